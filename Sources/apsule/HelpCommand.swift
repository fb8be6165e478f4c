import ApsuleKit
import HostCore

/// `apsule help`: of a command, a family, an operation or an error code.
enum HelpCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments)
        guard let topic = options.words.first else { return overview(json: options.isJSON) }
        if let command = Apsule.commands.first(where: { $0.name == topic }) {
            return show(command, json: options.isJSON)
        }
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let descriptors = ProjectTypes.callable(host.registry.snapshot)
        let errors = ErrorCatalogue(descriptors: descriptors)
        if let error = errors[topic] { return show(error, json: options.isJSON) }
        if DocsCommand.show(topic, descriptors, json: options.isJSON) { return .ok }
        let known =
            Apsule.commands.map(\.name) + errors.codes + descriptors.map(\.family)
            + descriptors.flatMap { $0.operations.map(\.fullName) }
        let nearest = Suggestion.nearest(to: topic, among: known).map { " Did you mean \($0)?" } ?? ""
        throw HostError("usage.invalid", "There is no help for \(SafeText.escape(topic)).\(nearest)")
    }

    static func overview(json: Bool) -> ExitCode {
        if json {
            Output.line(JSON.object([.init("commands", .array(Apsule.commands.map(describe)))]).text)
            return .ok
        }
        Output.line("apsule: native operations for scripts, command lines and tools, each behind a permission.\n")
        Output.table(Apsule.commands.map { ($0.name, $0.summary) })
        Output.line("\nEverywhere: --json, --state DIR, --plugins DIR. apsule help COMMAND says more.")
        return .ok
    }

    static func show(_ command: Command, json: Bool) -> ExitCode {
        if json {
            Output.line(describe(command).text)
            return .ok
        }
        Output.line("\(Output.bold("apsule \(command.name)")) \(command.usage)\n\n\(command.summary)\n")
        Output.table(command.allOptions.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.summary) })
        return .ok
    }

    private static func describe(_ command: Command) -> JSON {
        let options = command.allOptions.map { option -> JSON in
            [
                "name": .string("--\(option.name)"), "value": option.value.map { .string($0) } ?? .null,
                "summary": .string(option.summary),
            ]
        }
        return [
            "command": .string(command.name), "usage": .string(command.usage), "summary": .string(command.summary),
            "options": .array(options),
        ]
    }

    private static func show(_ error: ErrorCatalogue.Entry, json: Bool) -> ExitCode {
        if json {
            Output.line(error.json.text)
            return .ok
        }
        Output.line("\(Output.bold(error.code))\n")
        Output.line("  \(SafeText.escape(error.text.meaning, limit: 2_000))")
        if let fix = error.text.fix { Output.line("  fix: \(SafeText.escape(fix, limit: 2_000))") }
        let family = error.source == "host" ? "the host itself" : "the family \(error.source)"
        Output.line("  from: \(family)")
        if !error.operations.isEmpty { Output.line("  operations: \(error.operations.joined(separator: ", "))") }
        return .ok
    }
}
