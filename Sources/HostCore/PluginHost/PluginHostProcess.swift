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

    /// Asks a plugin-host that was started for this alone whether its family can work here, and ends it.
    ///
    /// - Returns: `{"status": "ready"}`, or `{"status": "unavailable", "reason", "fix"}`; nil where no answer came in time.
    public func probe(milliseconds: Int) -> JSON? {
        let channel = FrameChannel(socket)
        let answer = OneAnswer<JSON?>()
        Thread.start(name: "apsule.probe") {
            while let frame = try? channel.receive(), let report = try? PluginReport(frame) {
                if case .probed(let status) = report { return answer.give(status) }
            }
            answer.give(nil)
        }
        if let frame = try? PluginRequest.probe.frame() { channel.send(frame) }
        let status = answer.wait(milliseconds: milliseconds) ?? nil
        channel.close()
        if process.wait(milliseconds: 1_000) == nil { process.kill() }
        return status
    }

    /// Starts the plugin-host of one family.
    public typealias Launch = @Sendable () throws(HostError) -> PluginHostConnection
}
