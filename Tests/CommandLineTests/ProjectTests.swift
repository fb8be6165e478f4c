import ApsuleKit
import Foundation
import HostCore
import Testing

/// `apsule init` and `apsule types`.
@Suite struct ProjectTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool() }

    @Test func initMakesAProjectThatIsValid() throws {
        let made = try apsule.run("init", "Sub/My BLE Scanner!", "--json")
        #expect(made.json?["id"] == "com.example.my-ble-scanner")
        #expect(made.json?["written"] == ["app.json", "main.js", "host.d.ts", "app.schema.json", "jsconfig.json"])
        let manifest = try Manifest(
            parsing: Array(apsule.read("Sub/My BLE Scanner!/app.json").utf8), file: "app.json",
            catalogue: PermissionCatalogue())
        #expect(manifest.name == "My BLE Scanner!" && manifest.warnings.isEmpty)
        #expect(try apsule.run("types", "Sub/My BLE Scanner!", "--check").status == 0)
    }

    @Test(arguments: [
        ("scanner", "scanner"), ("Peter's Äpp", "peters-pp"), ("日本", "project"), ("--x__y..z", "x-y-z"),
        (String(repeating: "a", count: 200), String(repeating: "a", count: 64)),
    ])
    func namesBecomeIds(name: String, slug: String) throws {
        let project = try NewProject(folder: "/tmp/\(name)")
        #expect(project.id == "com.example.\(slug)")
        #expect(try NewProject(folder: "../b/./c", current: "/x/a").folder == "/x/b/c")
    }

    @Test(arguments: ["app.json", "main.js"]) func initOverwritesNothing(_ file: String) throws {
        try apsule.write("app/\(file)", "mine")
        let refused = try apsule.run("init", "app", "--json")
        #expect(refused.status == 5)
        #expect(refused.error?["code"] == "project.exists")
        #expect(try apsule.read("app/\(file)") == "mine")
        #expect(try FileManager.default.contentsOfDirectory(atPath: apsule.home.path + "/app") == [file])
    }

    @Test func typesAreWrittenOnlyWhenTheyChange() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let old = try modified("app/host.d.ts")
        #expect(try apsule.run("types", "app").out == "The types are up to date.\n")
        #expect(try modified("app/host.d.ts") == old)

        try apsule.write("app/host.d.ts", "old")
        try apsule.write("app/jsconfig.json", "{}")
        let check = try apsule.run("types", "app", "--check", "--json")
        #expect(check.status == 1)
        #expect(check.json == ["host.d.ts": "stale", "app.schema.json": "current", "jsconfig.json": "current"])
        #expect(try apsule.run("types", "app", "--json").json?["written"] == ["host.d.ts"])
        #expect(try apsule.read("app/jsconfig.json") == "{}", "it is the project's own")
        let names = try FileManager.default.contentsOfDirectory(atPath: apsule.home.path + "/app")
        #expect(!names.contains { $0.hasPrefix(".") }, "nothing temporary stays")
    }

    @Test func aLinkIsReplacedAndNotFollowed() throws {
        try apsule.write("precious", "precious")
        try apsule.write("app/x", "")
        try FileManager.default.createSymbolicLink(
            atPath: apsule.home.path + "/app/host.d.ts", withDestinationPath: apsule.home.path + "/precious")
        #expect(try apsule.run("types", "app").status == 0)
        #expect(try apsule.read("precious") == "precious")
        #expect(try apsule.read("app/host.d.ts").hasPrefix("// Written by"))
    }

    @Test func refreshTouchesOnlyWhatTypesWrote() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let folder = apsule.home.path + "/app"
        let snapshot = Registry(folders: [], hostFamilies: []).snapshot
        #expect(try ProjectTypes.refresh(folder, snapshot, PermissionCatalogue()) == ["host.d.ts", "app.schema.json"])
        #expect(try ProjectTypes.refresh(folder, snapshot, PermissionCatalogue()) == [])
        try apsule.write("app/host.d.ts", "declare const host: any;")
        #expect(try ProjectTypes.refresh(folder, snapshot, PermissionCatalogue()) == [])
        #expect(try ProjectTypes.refresh(apsule.home.path, snapshot, PermissionCatalogue()) == [])
    }

    @Test func aNewProjectRunsAndKeepsItsTypesFresh() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let types = try apsule.read("app/host.d.ts")
        try apsule.write("app/host.d.ts", types.replacing("interface Host {", with: "interface Host { // older"))
        let run = try apsule.run("run", "app")
        #expect(run.status == 0 && run.out.hasSuffix("Done.\n"), "\(run)")
        #expect(run.err.contains("Wrote host.d.ts"))
        #expect(try apsule.read("app/host.d.ts") == types)
    }

    /// What is declared is there, and as it is declared.
    @Test func everyDeclaredGlobalExists() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let text = try apsule.read("app/host.d.ts")
        let runtime = try #require(text.firstRange(of: "// The runtime's own."))
        let names = text[runtime.upperBound...].matches(of: /declare (?:class|function|const|var) (\w+)/).map {
            String($0.1)
        }
        .filter { !["state", "actions", "URL", "URLSearchParams"].contains($0) }
        #expect(names.count > 20)
        try apsule.write(
            "app/main.js",
            names.map { "if (typeof \($0) === 'undefined') console.log('\($0)');" }.joined(separator: "\n"))
        let run = try apsule.run("run", "app")
        #expect(run.status == 0 && run.out == "", "\(run)")
    }

    @Test func whatCannotBeWrittenIsSaid() throws {
        try apsule.write("file", "")
        let failed = try apsule.run("init", "file/app", "--json")
        #expect(failed.status == 1 && failed.error?["code"] == "host.file_error")
        #expect(try apsule.run("types", "nowhere").status == 1)
        #expect(try apsule.run("init").status == 2)
    }

    @Test func theSchemaKnowsPermissionsLevelsAndOperations() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let schema = try JSON(parsing: apsule.read("app/app.schema.json"))
        let permissions = schema["properties"]?["permissions"]?["properties"]
        #expect(permissions?.members?.count == PermissionCatalogue().names.count)
        #expect(permissions?["location"]?["anyOf"]?[1]?["enum"] == ["whenInUse", "always"])
        #expect(permissions?["network"]?["anyOf"]?[1]?["properties"]?["hosts"]?["type"] == "array")
        #expect(
            permissions?["storage"]?["anyOf"]?[1]?["properties"]?["operations"]?["properties"]?["crypto.sha256"] != nil)
        let names = schema["properties"]?["requires"]?["properties"]?["operations"]?["items"]?["enum"]?.arrayValue ?? []
        #expect(names.contains("timer.sleep") && names.contains("runtime.discover"))
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/tsc"), "node-typescript is not installed"))
    func aNewProjectCompiles() throws {
        #expect(try apsule.run("init", "app").status == 0)
        let folder = apsule.home.appending(path: "app")
        #expect(try compile(folder, "-p", "jsconfig.json") == "")
        try apsule.write("app/other.js", "exports.answer = () => 42;")
        try apsule.write(
            "app/main.js",
            """
            const { answer } = require("./other.js");
            state = { count: answer() };
            var actions = { async wait({ ms }) { await host.timer.sleep(ms); } };
            try { await actions.wait({ ms: 5 }); } catch (error) { console.log(error.code); }
            await host.timer.slep(5);
            """)
        let complaint = try compile(folder, "-p", "jsconfig.json")
        #expect(complaint.contains("main.js(5,18)") && complaint.split(separator: "\n").count == 2, "\(complaint)")
    }

    private func modified(_ path: String) throws -> Date {
        try #require(
            FileManager.default.attributesOfItem(atPath: apsule.home.path + "/" + path)[.modificationDate] as? Date)
    }
}
