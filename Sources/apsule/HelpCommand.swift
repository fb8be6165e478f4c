import ApsuleKit
import HostCore

/// `apsule help`.
enum HelpCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        guard let topic = arguments.first else { return overview() }
        guard let command = Apsule.commands.first(where: { $0.name == topic }) else {
            throw HostError("usage.invalid", "There is no help for \(topic).")
        }
        return show(command)
    }

    static func overview() -> ExitCode {
        Output.line("apsule: native operations for scripts, command lines and tools, each behind a permission.\n")
        let width = Apsule.commands.map(\.name.count).max() ?? 0
        for command in Apsule.commands {
            let name = command.name + String(repeating: " ", count: width - command.name.count)
            Output.line("  \(Output.bold(name))  \(command.summary)")
        }
        Output.line("\nEverywhere: --json, --state DIR, --plugins DIR. apsule help COMMAND says more.")
        return .ok
    }

    static func show(_ command: Apsule.Command) -> ExitCode {
        Output.line("apsule \(command.name) \(command.usage)\n\n\(command.summary)")
        return .ok
    }
}
