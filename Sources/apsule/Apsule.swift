import ApsuleKit
import Glibc
import HostCore

/// `apsule`: argument parsing and printing; everything else is HostCore's.
@main
struct Apsule {
    static func main() {
        // Somebody who closes our output is no reason to die half-way.
        signal(SIGPIPE, SIG_IGN)
        Output.prepare()
        let arguments = Array(CommandLine.arguments.dropFirst())
        let json = arguments.prefix { $0 != "--" }.contains("--json")
        do throws(HostError) {
            try checkText()
            end(try run(arguments, json: json))
        } catch {
            Output.failure(error, json: json)
            end(ExitCode(error))
        }
    }

    /// Ends without exit handlers: threads of plugins may still be ending, and libraries would clean up under them.
    private static func end(_ code: ExitCode) -> Never {
        let failure = Output.failureCode
        guard failure != 0 else { _exit(code.rawValue) }
        Output.error("output.failed: Standard output cannot be written: \(String(cString: strerror(failure)))")
        _exit(code == .ok ? ExitCode.failed.rawValue : code.rawValue)
    }

    private static func run(_ arguments: [String], json: Bool) throws(HostError) -> ExitCode {
        guard let name = arguments.first, !["--help", "-h", "--json"].contains(name) else {
            return HelpCommand.overview(json: json)
        }
        if name == "--version" {
            let version = Discovery.hostVersion
            Output.line(json ? JSON.object([.init("version", .string(version))]).text : "apsule \(version)")
            return .ok
        }
        let rest = arguments.dropFirst()
        if let inner = inner[name] { return try inner(rest) }
        guard let command = commands.first(where: { $0.name == name }) else {
            let nearest = Suggestion.nearest(to: name, among: commands.map(\.name)).map { " Did you mean \($0)?" } ?? ""
            throw HostError("usage.invalid", "There is no command \(name).\(nearest) Try apsule help.")
        }
        if rest.contains("--help") { return HelpCommand.show(command, json: json) }
        return try command.run(rest)
    }

    /// An argument that is no UTF-8 would become another one, and name another file.
    private static func checkText() throws(HostError) {
        for index in 0..<Int(CommandLine.argc) {
            guard let argument = CommandLine.unsafeArgv[index], String(validatingCString: argument) == nil else {
                continue
            }
            throw HostError(
                "usage.invalid", "\(SafeText.escape(String(cString: argument), limit: 1_000)) is not UTF-8.",
                details: ["reason": "Paths and arguments are text.", "fix": "Rename it."])
        }
    }

    /// Programs that the host starts itself; nobody types them.
    private static let inner: [String: @Sendable (ArraySlice<String>) throws(HostError) -> ExitCode] = [
        "plugin-host": PluginHostCommand.run,
        "__complete": CompletionCommand.complete,
    ]

    static let commands: [Command] = [
        Command(
            name: "init", usage: "DIR", summary: "Makes a project that runs at once.", words: [.folder],
            run: InitCommand.run),
        Command(
            name: "run", usage: "DIR | FILE", summary: "Runs a project, or a single script.",
            options: RunCommand.options, words: [.file], run: RunCommand.run),
        Command(
            name: "call", usage: "FAMILY.OPERATION [JSON | name=text name:=json …]",
            summary: "Calls one operation; a stream prints a JSON line an event, or at a terminal a table.",
            options: CallCommand.options,
            words: [.operation, .argument], run: CallCommand.run),
        Command(
            name: "discover", usage: "[QUERY]",
            summary: "Lists families and operations: family:bluetooth stream:true permission:network text.",
            options: DiscoverCommand.options, words: [.query], run: DiscoverCommand.run),
        Command(
            name: "doctor", usage: "[FAMILY …]",
            summary: "Says what works on this machine, what does not, why, and what helps.",
            options: DoctorCommand.options, words: [.family], run: DoctorCommand.run),
        Command(
            name: "types", usage: "[DIR]",
            summary: "Writes host.d.ts, app.schema.json and jsconfig.json for editors and compilers.",
            options: TypesCommand.options, words: [.folder], run: TypesCommand.run),
        Command(
            name: "docs", usage: "[FAMILY | FAMILY.OPERATION]",
            summary: "Shows or writes the reference of operations and errors.",
            options: DocsCommand.options, words: [.page], run: DocsCommand.run),
        Command(
            name: "permissions",
            usage: "list | grant PROJECT PERMISSION | revoke PROJECT [PERMISSION] | explain OPERATION",
            summary: "Shows and changes what projects may do.", options: PermissionsCommand.options,
            words: [
                .verbs([
                    ("list", []), ("grant", [.project, .permission]), ("revoke", [.project, .permission]),
                    ("explain", [.operation, .argument]),
                ])
            ], run: PermissionsCommand.run),
        Command(
            name: "completion", usage: "bash | zsh", summary: "Prints the script that completes commands in a shell.",
            words: [.verbs([("bash", []), ("zsh", [])])], run: CompletionCommand.run),
        Command(
            name: "help", usage: "[COMMAND | FAMILY | FAMILY.OPERATION | ERROR CODE]",
            summary: "Explains a command, an operation or an error.", words: [.topic], run: HelpCommand.run),
    ]
}
