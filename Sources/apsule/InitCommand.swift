import ApsuleKit
import HostCore

/// `apsule init`: a project that runs at once.
enum InitCommand {
    static func run(_ arguments: ArraySlice<String>) throws(HostError) -> ExitCode {
        let options = try Options(arguments)
        let folder = try options.word(0, "DIR")
        let host = try Host(stateOverride: options["state"], plugins: options.all("plugins"))
        let project = try NewProject(folder: folder)
        let written = try project.write(types: ProjectTypes(host.registry.snapshot, host.catalogue))
        if options.isJSON {
            let report: JSON = [
                "folder": .string(project.folder), "id": .string(project.id),
                "written": .array(written.map { .string($0) }),
            ]
            Output.line(report.text)
            return .ok
        }
        Output.line("\(Output.bold(project.name)) (\(project.id)): \(written.joined(separator: ", ")).")
        Output.line("Run it: apsule run \(ShellWord.quoted(SafeText.escape(folder, limit: 1_000)))")
        return .ok
    }
}

/// Text as one word of a shell's line.
enum ShellWord {
    static func quoted(_ text: String) -> String {
        let isPlain =
            !text.isEmpty
            && text.utf8.allSatisfy { byte in
                Array("/._-+=@%,:".utf8).contains(byte) || (0x30...0x39).contains(byte)
                    || (0x41...0x5a).contains(byte & 0xdf)
            }
        let word = text.hasPrefix("-") ? "./" + text : text
        return isPlain ? word : "'" + word.replacing("'", with: "'\\''") + "'"
    }
}
