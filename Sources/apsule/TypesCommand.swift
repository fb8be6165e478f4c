import ApsuleKit
import HostCore

/// `apsule types`: declarations for editors and compilers, from the descriptors of this host.
enum TypesCommand {
    static let options = [Command.Option("check", "Only says whether the files are up to date; 1 where they are not.")]

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments, Self.options)
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let folder = options.words.first ?? "."
        let types = ProjectTypes(host.registry.snapshot, host.catalogue)
        if options.has("check") { return check(types.states(in: folder), json: options.isJSON) }
        let written = try types.write(to: folder)
        if options.isJSON {
            Output.line(JSON.object([.init("written", .array(written.map { .string($0) }))]).text)
        } else {
            Output.line(written.isEmpty ? "The types are up to date." : "Wrote \(written.joined(separator: ", ")).")
        }
        return .ok
    }

    private static func check(_ states: [(name: String, state: ProjectTypes.State)], json: Bool) -> ExitCode {
        if json {
            Output.line(JSON.object(states.map { .init($0.name, .string($0.state.rawValue)) }).text)
        } else {
            for (name, state) in states { Output.line("\(name): \(state.rawValue)") }
        }
        return states.allSatisfy { $0.state == .current } ? .ok : .failed
    }
}
