import HostCore

/// `apsule.1`, from the table of commands.
///
/// Source: <https://man7.org/linux/man-pages/man7/man-pages.7.html>
enum ManualPage {
    static var text: String {
        var page = """
            .\\" Written by apsule docs --man.
            .TH APSULE 1 "" "apsule \(Discovery.hostVersion)" "User Commands"
            .SH NAME
            apsule \\- native operations for scripts, command lines and tools
            .SH SYNOPSIS
            .B apsule
            .I COMMAND
            [\\fIARGUMENT\\fR ...] [\\fIOPTION\\fR ...]
            .SH DESCRIPTION
            Runs JavaScript projects that use this machine's radios, sensors and services through
            .BR host. \\fIfamily\\fR . \\fIoperation\\fR,
            and calls the same operations from the command line.
            Each operation may need a permission, which a person gives.
            .SH COMMANDS

            """
        for command in Apsule.commands {
            page += ".TP\n\\fBapsule \(escape(command.name))\\fR \(escape(command.usage))\n\(escape(command.summary))\n"
            guard !command.options.isEmpty else { continue }
            page += ".RS\n" + command.options.map(entry).joined() + ".RE\n"
        }
        page += ".SH OPTIONS\nEvery command takes these.\n" + Command.shared.map(entry).joined()
        page += section("EXIT STATUS", exits.map { (String($0.0), $0.1) })
        page += section("ENVIRONMENT", environment)
        page += section("FILES", files)
        page += ".SH EXAMPLES\n"
        for (line, meaning) in examples { page += ".TP\n\\fB\(escape(line))\\fR\n\(escape(meaning))\n" }
        return page
    }

    private static func entry(_ option: Command.Option) -> String {
        let value = option.value.map { " \\fI\(escape($0))\\fR" } ?? ""
        return ".TP\n\\fB\\-\\-\(escape(option.name))\\fR\(value)\n\(escape(option.summary))\n"
    }

    private static func section(_ title: String, _ entries: [(String, String)]) -> String {
        ".SH \(title)\n" + entries.map { ".TP\n\\fB\(escape($0.0))\\fR\n\(escape($0.1))\n" }.joined()
    }

    /// Hyphens that are typed, backslashes, and dots that would begin a request.
    private static func escape(_ text: String) -> String {
        let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-").replacing("…", with: "...")
        return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
    }

    private static let exits: [(Int32, String)] = [
        (ExitCode.ok.rawValue, "It worked."),
        (ExitCode.failed.rawValue, "It failed, or the script ended with an error."),
        (ExitCode.usage.rawValue, "The command line is wrong, or names an operation that does not exist."),
        (ExitCode.permission.rawValue, "A permission is missing."),
        (ExitCode.unavailable.rawValue, "This machine cannot do it now; the error says why and what helps."),
        (ExitCode.conflict.rawValue, "Something is there already."),
        (ExitCode.validation.rawValue, "Arguments or a manifest are not valid."),
        (ExitCode.timeout.rawValue, "It took too long."),
        (ExitCode.interrupted.rawValue, "It was interrupted."),
        (ExitCode.outputClosed.rawValue, "Whoever read the output closed it before the end, as head does."),
    ]

    private static let environment: [(String, String)] = [
        (
            "XDG_STATE_HOME, XDG_DATA_HOME, XDG_CONFIG_HOME",
            "Where state, data and policy lie, each in a folder apsule."
        ),
        ("APSULE_PLUGIN_PATH", "Further plugin folders, with colons between them; ignored for root."),
        ("APSULE_DEBUG", "When set, what plugins log for debugging is printed too."),
        ("NO_COLOR", "When set, nothing is coloured."),
        ("CLICOLOR_FORCE", "When set and not 0, output is coloured without a terminal, too."),
        ("TERM", "On a dumb terminal nothing is coloured and nothing is drawn in place."),
    ]

    private static let files: [(String, String)] = [
        ("~/.local/state/apsule/grants.db", "What people have decided for good."),
        ("~/.local/state/apsule/audit.jsonl", "What was allowed, denied, asked and revoked."),
        ("~/.local/share/apsule/sandbox", "The data of projects, each in a folder of its own."),
        (
            "~/.config/apsule/policy.json",
            "The owner's standing decisions and settings of families; nothing runs while others may write it."
        ),
    ]

    private static let examples: [(String, String)] = [
        ("apsule init scanner && apsule run scanner", "Makes a project and runs it."),
        ("apsule call bluetooth.scan durationMs:=5000", "Scans for Bluetooth devices for five seconds."),
        ("apsule discover permission:network", "Lists the operations that use the network."),
        ("apsule permissions explain bluetooth.scan --project scanner", "Shows what decides about a call."),
        ("apsule help bluetooth.adapter_off", "Explains an error."),
        ("apsule doctor bluetooth", "Says whether Bluetooth works here; ends with 4 where it does not."),
    ]
}
