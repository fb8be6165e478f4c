import ApsuleKit
import Foundation
import Glibc
import Testing

/// What a command that fails ends with, and says on stderr under `--json`.
@Suite struct ExitCodeTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool(binary: GalleryInstallation.binary.get()) }

    private static let cases: [(line: String, code: String, status: Int32)] = [
        ("nonsense", "usage.invalid", 2), ("call", "usage.invalid", 2), ("call timer.sleep --nope", "usage.invalid", 2),
        ("call timer.slep ms:=1", "host.operation_unknown", 2), ("call timer.sleep {", "usage.invalid", 2),
        ("run app --allow nothing", "permissions.unknown", 2), ("doctor nothing", "usage.invalid", 2),
        ("help host.nothing", "usage.invalid", 2), ("docs nothing", "usage.invalid", 2),
        ("permissions grant apsule.cli storage", "permission.denied", 3),
        ("permissions explain timer.nothing", "host.operation_unknown", 2),
        ("permissions grant apsule.cli storag", "usage.invalid", 2),
        ("init app", "project.exists", 5), ("run broken", "manifest.syntax", 6),
        ("run nowhere", "manifest.not_found", 6),
        ("run needy", "manifest.incompatible_host", 6), ("call timer.sleep ms:=-1", "host.invalid_argument", 6),
        ("discover colour:red", "host.invalid_argument", 6), ("types nowhere", "host.file_error", 1),
        ("call gallery.slow ms:=60000 --timeout 100ms", "host.timeout", 124),
        ("call gallery.nonsense", "plugin.invalid_answer", 4),
        ("call gallery.nonsenses", "plugin.invalid_answer", 4),
    ]

    @Test(arguments: cases) func aFailureIsOneJSONObject(line: String, code: String, status: Int32) throws {
        #expect(try apsule.run("init", "app").status == 0)
        try apsule.write("broken/app.json", "{")
        try apsule.write(
            "needy/app.json",
            #"{"apsule": 1, "id": "a.b", "name": "n", "version": "1.0.0", "requires": {"operations": ["x.y"]}}"#)
        let run = try apsule.run(line.split(separator: " ").map(String.init) + ["--json"])
        #expect(run.status == status, "\(run)")
        #expect(run.error?["code"]?.stringValue == code, "\(run)")
        #expect(run.error?["message"]?.stringValue?.isEmpty == false && run.error?["details"]?.members != nil)
        #expect(run.out.isEmpty)
    }

    @Test(arguments: [
        "help", "help call", "call --help", "help host.timeout", "help timer", "docs", "docs timer.sleep", "docs --man",
        "permissions list", "permissions explain timer.sleep", "permissions revoke apsule.cli", "doctor", "discover",
        "types .", "init made", "--version",
    ]) func everyCommandSpeaksJSON(line: String) throws {
        let run = try apsule.run(line.split(separator: " ").map(String.init) + ["--json"])
        #expect(run.status == 0 && run.json != nil && run.lines.count == 1, "\(run)")
    }

    @Test func pathsWithOddCharactersAreTheirOwn() throws {
        let apsule = try ApsuleTool()
        for name in ["a#b c", "100%", "日本#1@2"] {
            try apsule.write("\(name)/one.js", "console.log('ran');")
            let run = try apsule.run("run", "\(name)/one.js")
            #expect(run.status == 0 && run.out == "ran\n", "\(run)")
            #expect(try apsule.run("init", "\(name)/app").status == 0)
            let project = try apsule.run("run", "\(name)/app")
            #expect(project.status == 0 && project.out.hasSuffix("Done.\n"), "\(project)")
        }
        #expect(try apsule.run("init", "it's here").out.contains("apsule run 'it'\\''s here'"))
    }

    @Test func coloursAreForTerminalsAndWhoForcesThem() throws {
        let forced = ["CLICOLOR_FORCE": "1"]
        #expect(try apsule.run("help", environment: forced).out.contains("\u{1b}[1m"))
        #expect(try !apsule.run("help", environment: ["CLICOLOR_FORCE": "0"]).out.contains("\u{1b}"))
        #expect(try !apsule.run("help", environment: forced.merging(["NO_COLOR": "1"]) { $1 }).out.contains("\u{1b}"))
    }
}
