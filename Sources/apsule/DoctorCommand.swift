import ApsuleKit
import Glibc
import HostCore
import ScriptText

/// `apsule doctor`: what works here, what does not, why, and what helps.
enum DoctorCommand {
    static let options = [
        Command.Option("timeout", value: "10s", "How long all families together may take to say how they are.")
    ]

    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments, Self.options)
        let patience =
            try options["timeout"].map { text throws(HostError) in try Duration.milliseconds(text) } ?? 10_000
        let installation = Installation()
        var paths: HostPaths?
        var families: [Finding] = []
        var known: Host?
        var general: [Finding] = []
        do throws(HostError) {
            paths = try HostPaths(override: options["state"], environment: installation.environment)
        } catch {
            general = [Finding("permissions", "state", error)]
        }
        do throws(HostError) {
            let host = try Host(
                installation: installation, stateOverride: options["state"], plugins: options.all("plugins"))
            known = host
            // Before the wait, so that a wrong name is said at once.
            _ = try Doctor.families(host.registry.snapshot, named: options.words)
            let names = options.words.isEmpty ? nil : Set(options.words)
            Prober(registry: host.registry, installation: installation, console: StandardErrorConsole())
                .probe(names, milliseconds: max(1, patience))
            families = try Doctor.families(host.registry.snapshot, named: options.words)
        } catch {
            guard error.code == "host.installation_damaged" else { throw error }
            general.insert(Finding("installation", "manifests", error), at: 0)
        }
        let tools = [Doctor.Tool(path: ScriptBundle.executable, package: "esbuild", purpose: "TypeScript and import")]
        general += Doctor(installation: installation, paths: paths, tools: tools).examine(known)
        // Who asks about a family hears of the rest only what may be the cause.
        if !options.words.isEmpty { general = general.filter { $0.state == .problem } }
        show(general + families, json: options.isJSON)
        let isMissing =
            !options.words.isEmpty && (general + families).contains { $0.topic == "families" && $0.state != .fine }
        return isMissing || (families.isEmpty && !options.words.isEmpty) ? .unavailable : .ok
    }

    private static func show(_ findings: [Finding], json: Bool) {
        if json {
            let report: JSON = [
                "host": ["version": .string(Discovery.hostVersion)], "checks": .array(findings.map(\.json)),
            ]
            return Output.line(Output.isTerminal ? report.pretty() : report.text)
        }
        let width = min(findings.map { Output.width(of: SafeText.escape($0.name)) }.max() ?? 0, 16)
        var topic = ""
        for finding in findings {
            if finding.topic != topic {
                if !topic.isEmpty { Output.line("") }
                topic = finding.topic
                Output.line(Output.bold(topic))
            }
            let name = SafeText.escape(finding.name)
            Output.line(
                "\(mark(finding.state)) \(Output.padded(name, width))  \(SafeText.escape(finding.text, limit: 1_000))")
            let indent = String(repeating: " ", count: width + 4)
            if let reason = finding.reason { Output.line("\(indent)why: \(SafeText.escape(reason, limit: 1_000))") }
            if let fix = finding.fix { Output.line("\(indent)fix: \(SafeText.escape(fix, limit: 1_000))") }
        }
        let counts = [Finding.State.problem, .warning].map { state in findings.count { $0.state == state } }
        let words = zip(counts, ["problem", "warning"]).map { "\($0) \($1)\($0 == 1 ? "" : "s")" }
        Output.line("\n\(words.joined(separator: ", "))")
    }

    private static func mark(_ state: Finding.State) -> String {
        let isPlain = !Output.isUnicode
        return switch state {
        case .fine: Output.colour(isPlain ? "ok" : "✓", 32)
        case .warning: Output.colour(isPlain ? "! " : "!", 33)
        case .problem: Output.colour(isPlain ? "x " : "✗", 31)
        }
    }
}
