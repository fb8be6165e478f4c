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
        let printer = CallPrinter(screen)
        let timeout = try options["timeout"].map { text throws(HostError) in try Duration.milliseconds(text) }
        let call = dispatcher.start(
            operation, Payload(Payload.escaping(value)), timeoutMs: timeout, observer: printer)
        Interrupt.onInterrupt({ call.cancel() }, second: { screen.finish() })
        if let text = options["for"] {
            let limit = try Duration.milliseconds(text)
            HostCore.Thread.start(name: "apsule.for") {
                usleep(UInt32(min(limit, 3_600_000)) * 1_000)
                call.cancel()
            }
        }
        let failure = printer.wait()
        screen.finish()
        if let error = failure {
            // A stream that was cut off by --for or Ctrl-C has done what was asked.
            Output.failure(error, json: options.isJSON)
            return Interrupt.wasInterrupted && error.code == "host.cancelled" ? .interrupted : ExitCode(error)
        }
        return Interrupt.wasInterrupted ? .interrupted : .ok
    }
}

/// Prints the answer, or each event, as it comes.
final class CallPrinter: CallObserver {
    /// The error where there was one.
    private let end = OneAnswer<HostError?>()
    private let printing = Mutex(())
    private let screen: CallScreen

    init(_ screen: CallScreen) { self.screen = screen }

    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) {
        switch result {
        case .failure(let error): end.give(error)
        case .success(let payload):
            // A stream's handle is no use on a command line; its events and its end are.
            if call.isStream { return screen.opened() }
            screen.answer(payload.inlined())
            end.give(nil)
        }
    }

    func eventsReady(_ call: any RunningCall) {
        printing.withLock { _ in
            while let item = call.next() {
                switch item {
                case .event(let name, let payload): screen.event(name, payload.inlined())
                case .end(let final, let reason):
                    var members: [JSON.Member] = [.init("reason", .string(reason))]
                    if let final, final.value != .null { members.append(.init("final", final.inlined())) }
                    screen.end(.object(members))
                    end.give(nil)
                case .failed(let error): end.give(error)
                }
            }
        }
    }

    /// Waits for the end; the error where there was one.
    func wait() -> HostError? { end.wait() }
}
