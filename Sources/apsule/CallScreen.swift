import ApsuleKit
import Glibc
import HostCore
import Synchronization

/// What `apsule call` shows: on a terminal a table of a stream's items, or how long a call has been running; elsewhere
/// plain lines of JSON.
final class CallScreen: ConsoleSink {
    private let region: LiveRegion
    private let table: LiveTable?
    private let elapsed = Mutex<ElapsedLine?>(nil)
    private let isOpen = Mutex(false)

    /// - Parameter operation: nil where there is none of that name.
    init(_ operation: OperationDescriptor?, json: Bool) {
        let listing = json || !Output.isLive ? nil : operation.flatMap(Listing.init)
        region = LiveRegion(listing == nil ? 2 : 1)
        table = listing.map { [region] in LiveTable($0, region) }
        guard !json, listing == nil, let operation, operation.kind == .call, Output.isLive(2) else { return }
        elapsed.withLock { $0 = ElapsedLine(operation.fullName, region) }
    }

    /// The stream is open.
    func opened() {
        isOpen.withLock { $0 = true }
        table?.start()
    }

    func answer(_ json: JSON) {
        finish()
        Output.line(Output.isTerminal ? Output.shown(json.pretty()) : json.text)
    }

    func event(_ name: String, _ value: JSON) {
        if let table, table.take(name, value) { return }
        line(name, value)
    }

    /// The end of a stream; a table shows its list already.
    func end(_ value: JSON) {
        guard table != nil else { return line("end", value) }
        finish()
    }

    private func line(_ name: String, _ value: JSON) {
        let json = JSON.object([.init("type", .string(name))] + (value.members ?? [.init("value", value)])).text
        region.above { Output.line(Output.isTerminal ? Output.shown(json) : json) }
    }

    func above(_ print: () -> Void) { region.above(print) }
    func pause(_ isPaused: Bool) { region.pause(isPaused) }

    /// Gives the terminal back.
    func finish() {
        if isOpen.withLock({ $0 }) { table?.finish() }
        elapsed.withLock { line in
            line?.finish()
            line = nil
        }
    }

    // MARK: - Lines of plugins, on stderr

    func write(_ level: LogLevel, source: String, _ text: String) {
        if let line = StandardErrorConsole.line(level, source, text) { region.above { Output.error(line) } }
    }
}
