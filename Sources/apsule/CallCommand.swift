import ApsuleKit
import Glibc
import HostCore
import Synchronization

/// `apsule call FAMILY.OPERATION …`: one operation, as the identity `apsule.cli`.
enum CallCommand {
    static let options =
        [
            Command.Option("allow", value: "PERMISSION", "Gives the permission for this call; may be repeated."),
            Command.Option("for", value: "5s", "Ends a stream after this time."),
            Command.Option("timeout", value: "5s", "How long the operation may take to answer, or to open."),
        ] + TapeOptions.options

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        Interrupt.hold()
        let options = try Options(arguments, Self.options)
        let operation = try options.word(0, "FAMILY.OPERATION")
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let value = try CallArguments.parse(options.words.dropFirst())
        // Read before anything is called.
        let timeout = try options["timeout"].map { text throws(HostError) in try Duration.milliseconds(text) }
        let limit = try options["for"].map { text throws(HostError) in try Duration.milliseconds(text) }
        let subject = PermissionAuthority.Subject(
            identity: .commandLine, name: "The command line (apsule call)", declarations: nil)
        let screen = CallScreen(host.registry.snapshot.operation(operation), json: options.isJSON)
        let authority = try host.authority(
            subject, allowed: Set(options.all("allow")), prompter: TerminalPrompter { screen.pause($0) },
            warn: { error in screen.above { Output.failure(error, json: options.isJSON) } })
        let tape = try TapeOptions(options).tape { error in screen.above { Output.failure(error, json: options.isJSON) }
        }
        let dispatcher = try host.dispatcher(
            .commandLine, authority: authority, settings: authority.settings, tape: tape, console: screen)
        defer { dispatcher.close() }
        let printer = CallPrinter(screen, limit: limit)
        let call = dispatcher.start(
            operation, Payload(Payload.escaping(value)), timeoutMs: timeout, observer: printer)
        Interrupt.onInterrupt({ call.cancel() }, second: { screen.finish() })
        // On a thread of its own: whoever prints holds locks that the end of the call needs too.
        Output.onReaderGone { HostCore.Thread.start(name: "apsule.gone") { call.cancel() } }
        if !call.isStream, limit != nil { printer.startLimit(call) }
        let failure = printer.wait()
        screen.finish()
        if let error = failure {
            // A stream that was cut off by --for or Ctrl-C has done what was asked.
            if Output.isReaderGone, error.code == "host.cancelled" { return .outputClosed }
            Output.failure(error, json: options.isJSON)
            return Interrupt.wasInterrupted && error.code == "host.cancelled" ? .interrupted : ExitCode(error)
        }
        if Output.isReaderGone { return .outputClosed }
        return Interrupt.wasInterrupted ? .interrupted : .ok
    }
}

/// Prints the answer, or each event, as it comes.
final class CallPrinter: CallObserver {
    /// The error where there was one.
    private let end = OneAnswer<HostError?>()
    private let printing = Mutex(())
    private let screen: CallScreen
    private let limit: Int?

    /// - Parameter limit: milliseconds that a stream runs once it is open, and any other call at all.
    init(_ screen: CallScreen, limit: Int?) { (self.screen, self.limit) = (screen, limit) }

    /// Ends a call when its time is over.
    func startLimit(_ call: any RunningCall) {
        guard let limit else { return }
        HostCore.Thread.start(name: "apsule.for") {
            let end = Clock.now + Int64(limit)
            while Clock.now < end { usleep(UInt32(min(end - Clock.now, 60_000)) * 1_000) }
            call.cancel()
        }
    }

    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) {
        switch result {
        case .failure(let error): end.give(error)
        case .success(let payload):
            // A stream's handle is no use on a command line; its events and its end are.
            if call.isStream {
                screen.opened()
                return startLimit(call)
            }
            guard let value = payload.inlined() else {
                return end.give(HostError.invalidAnswer)
            }
            screen.answer(value)
            end.give(nil)
        }
    }

    func eventsReady(_ call: any RunningCall) {
        printing.withLock { _ in
            while let item = call.next() {
                switch item {
                case .event(let name, let payload):
                    guard let value = payload.inlined() else {
                        // The stream ends with the process.
                        return end.give(HostError.invalidAnswer)
                    }
                    screen.event(name, value)
                case .end(let final, let reason):
                    var members: [JSON.Member] = [.init("reason", .string(reason))]
                    let value = (final ?? .null).inlined()
                    if let value, value != .null { members.append(.init("final", value)) }
                    screen.end(.object(members))
                    end.give(value == nil ? HostError.invalidAnswer : nil)
                case .failed(let error): end.give(error)
                }
            }
        }
    }

    /// Waits for the end; the error where there was one.
    func wait() -> HostError? { end.wait() }
}
