public import ApsuleKit

/// The process behind a plugin-host's channel, started by this process or by the parent on its behalf.
public protocol PluginHostProcess: AnyObject, Sendable {
    /// Waits for its end; nil where it still runs.
    func wait(milliseconds: Int) -> ProcessEnd?
    func kill()
}

extension ChildProcess: PluginHostProcess {}

/// A plugin-host that was just started, and the channel to it.
public struct PluginHostConnection: Sendable {
    public let socket: OwnedFile
    public let process: any PluginHostProcess

    public init(socket: OwnedFile, process: any PluginHostProcess) {
        (self.socket, self.process) = (socket, process)
    }

    /// Starts the plugin-host of one family.
    public typealias Launch = @Sendable () throws(HostError) -> PluginHostConnection
}
