import ApsuleKit
import HostCore

/// `apsule discover`: what this host can do, without running any plugin.
enum DiscoverCommand {
    static let options = [
        Command.Option("probe", "Asks plugins whether they can work on this machine, for ten seconds at most.")
    ]

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments, Self.options)
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        if options.has("probe") {
            Prober(registry: host.registry, installation: host.installation, console: StandardErrorConsole()).probe()
        }
        let query = try DiscoveryQuery(options.words.joined(separator: " "))
        let report = Discovery.report(host.registry.snapshot, query: query)
        if options.isJSON {
            Output.line(Output.isTerminal ? report.pretty() : report.text)
            return .ok
        }
        let families = report["families"]?.arrayValue ?? []
        for family in families { show(family) }
        if families.isEmpty { Output.error("Nothing fits. apsule discover lists all there is.") }
        return .ok
    }

    private static func show(_ family: JSON) {
        let status = family["status"]?.stringValue ?? ""
        let colour = ["ready": 32, "unprobed": 32, "unavailable": 33, "quarantined": 33][status] ?? 31
        let name = SafeText.escape(family["family"]?.stringValue ?? "")
        Output.line(
            "\(Output.bold(name)) \(Output.colour(status, colour))  \(SafeText.escape(family["summary"]?.stringValue ?? ""))"
        )
        if let reason = family["reason"]?.stringValue { Output.line("  why: \(SafeText.escape(reason, limit: 500))") }
        if let fix = family["fix"]?.stringValue { Output.line("  fix: \(SafeText.escape(fix, limit: 500))") }
        for operation in family["operations"]?.arrayValue ?? [] {
            let name = SafeText.escape(operation["name"]?.stringValue ?? "")
            let arguments = (operation["arguments"]?["properties"]?.members ?? []).map { member in
                let required = operation["arguments"]?["required"]?.arrayValue?.contains(.string(member.key)) == true
                return required ? member.key : member.key + "?"
            }
            let stream = operation["kind"] == "stream" ? " stream" : ""
            let permission = operation["permission"]?.stringValue.map { " [\($0)]" } ?? ""
            Output.line("  \(name)(\(arguments.joined(separator: ", ")))\(Output.dim(stream + permission))")
            Output.line("      \(Output.dim(SafeText.escape(operation["summary"]?.stringValue ?? "", limit: 500)))")
        }
    }
}
