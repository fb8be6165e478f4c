import ApsuleKit
import Foundation
import Glibc
import Testing

@testable import HostCore

@Suite struct ManifestTests {
    private func read(_ text: String) throws(HostError) -> Manifest {
        try Manifest(parsing: Array(text.utf8), file: "app.json", catalogue: PermissionBench.catalogue)
    }

    private func text(_ more: String) -> String {
        "{\n  \"apsule\": 1, \"id\": \"com.example.app\", \"name\": \"App\",\n  \"version\": \"1.0.0\",\n  \(more)\n}"
    }

    @Test func readsWhatThereIs() throws {
        let manifest = try read(
            text(
                """
                "entry": "src/main.js", "permissions": {"bluetooth": {"services": ["180d"], "reason": "why",
                "operations": {"scan": true}}, "calendar": "read", "camera": false}, "requires": {"host": ">=0.1",
                "operations": ["bluetooth.scan"]}, "optional": {"operations": ["crypto.hash"]},
                "limits": {"turnMs": 100, "memoryMB": 64}, "x-mine": 1
                """))
        #expect(manifest.permissions["bluetooth"]?.scopes == ["services": ["180d"]])
        #expect(manifest.permissions["bluetooth"]?.operations == ["scan": true])
        #expect(manifest.permissions["calendar"]?.level == "read")
        #expect(manifest.permissions["camera"] == nil)
        #expect(manifest.limits.turnMs == 100 && manifest.limits.memoryMB == 64)
        #expect(manifest.requires.operations == ["bluetooth.scan"] && manifest.optional == ["crypto.hash"])
        #expect(manifest.warnings.isEmpty)
        let declared = try #require(manifest.permissions["bluetooth"])
        #expect(Declaration(json: declared.json) == declared)
    }

    @Test(arguments: [
        ("{", "manifest.syntax", "app.json:1:2"), ("", "manifest.syntax", "app.json:1:1"),
        ("{\n  \"apsule\": 1,\n}", "manifest.syntax", "app.json:3:1"), ("[]", "manifest.invalid", "must be an object"),
        ("{\"apsule\": 2}", "manifest.invalid", "apsule must be 1"),
        ("{\"apsule\": 1}", "manifest.invalid", "id must be"),
        ("{\"apsule\": 1, \"id\": \"A.B\"}", "manifest.invalid", "lower-case"),
        ("{\"apsule\": 1, \"id\": \"one\"}", "manifest.invalid", "lower-case"),
        ("{\"apsule\": 1, \"id\": \"a..b\"}", "manifest.invalid", "lower-case"),
        ("{\"apsule\": 1, \"id\": \"a.b/../c\"}", "manifest.invalid", "lower-case"),
        ("{\"apsule\": 1, \"id\": \"a.b\", \"name\": 1}", "manifest.invalid", "name must be a string"),
    ])
    func saysWhereItIsBroken(_ text: String, _ code: String, _ part: String) {
        let error = failure { try read(text) }
        #expect(error?.code == code)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "none")")
        #expect(error?.details["file"] == "app.json" && error?.details["line"]?.intValue != nil)
    }

    @Test(arguments: [
        ("\"permissions\": {\"blutooth\": true}", "manifest.unknown_permission", "did you mean bluetooth?"),
        ("\"permissions\": {\"teleportation\": true}", "manifest.unknown_permission", "is no permission"),
        ("\"permissions\": [\"bluetooth\"]", "manifest.invalid", "permissions must be an object"),
        ("\"permissions\": {\"bluetooth\": 1}", "manifest.invalid", "true, a level or an object"),
        ("\"permissions\": {\"bluetooth\": null}", "manifest.invalid", "true, a level or an object"),
        ("\"permissions\": {\"bluetooth\": \"read\"}", "manifest.invalid", "has no levels"),
        ("\"permissions\": {\"calendar\": \"own\"}", "manifest.invalid", "one of read, write"),
        ("\"permissions\": {\"calendar\": {\"level\": 5}}", "manifest.invalid", "level must be a string"),
        ("\"permissions\": {\"bluetooth\": {\"services\": \"180d\"}}", "manifest.invalid", "services must be a list"),
        ("\"permissions\": {\"bluetooth\": {\"services\": [180]}}", "manifest.invalid", "strings only"),
        ("\"permissions\": {\"bluetooth\": {\"servces\": []}}", "manifest.invalid", "did you mean services?"),
        ("\"permissions\": {\"storage\": {\"services\": []}}", "manifest.invalid", "is none of"),
        ("\"permissions\": {\"bluetooth\": {\"operations\": [\"scan\"]}}", "manifest.invalid", "must be an object"),
        ("\"permissions\": {\"bluetooth\": {\"operations\": {\"scan\": 1}}}", "manifest.invalid", "true or false"),
        ("\"permissions\": {\"bluetooth\": {\"reason\": {}}}", "manifest.invalid", "reason must be a string"),
        ("\"entry\": \"../main.js\"", "manifest.invalid", "inside the project"),
        ("\"entry\": \"/etc/passwd\"", "manifest.invalid", "inside the project"),
        ("\"entry\": \"a\\u0000b\"", "manifest.invalid", "inside the project"),
        ("\"entry\": \"\"", "manifest.invalid", "not empty"),
        ("\"limits\": {\"turnMs\": 5}", "manifest.invalid", "10 to 600000"),
        ("\"limits\": {\"memoryMB\": \"512\"}", "manifest.invalid", "32 to 16384"),
        ("\"limits\": 5", "manifest.invalid", "object"),
        ("\"requires\": {\"operations\": \"x\"}", "manifest.invalid", "list of strings"),
        ("\"requires\": []", "manifest.invalid", "requires must be an object"),
    ])
    func refusesWhatItCannotMean(_ more: String, _ code: String, _ part: String) {
        let error = failure { try read(text(more)) }
        #expect(error?.code == code)
        #expect(error?.message.contains(part) == true, "\(error?.message ?? "none")")
        #expect(error?.details["line"] == 4, "\(error?.message ?? "none")")
    }

    @Test func findsTheLineOfTheRightKey() {
        let error = failure {
            try read(
                text(
                    """
                    "settings": {"reason": 1},
                      "permissions": {
                        "storage": {"reason": "fine"},
                        "bluetooth": {
                          "reason": 5}}
                    """))
        }
        #expect(error?.details["line"] == 8)
        #expect(error?.details["key"] == "permissions.bluetooth.reason")
    }

    @Test func warnsOfKeysItDoesNotKnow() throws {
        let manifest = try read(text("\"permisions\": {}, \"limits\": {\"turnMS\": 1}, \"frobnicate\": 1"))
        #expect(manifest.warnings.count == 3)
        #expect(
            manifest.warnings[0].contains("app.json:4: unknown key permisions is ignored, did you mean permissions?"))
        #expect(manifest.warnings[1].contains("frobnicate is ignored"))
        #expect(manifest.warnings[2].contains("limits.turnMS is ignored, did you mean turnMs?"))
    }

    @Test func hugeAndOddOnesAreBounded() throws {
        let folder = try TemporaryFolder()
        func error() -> HostError? { failure { try ProjectFolder(folder.path, catalogue: PermissionBench.catalogue) } }
        #expect(error()?.code == "manifest.not_found")
        #expect(error()?.details["fix"] == .string("apsule init \(folder.path)"))
        let nowhere = failure { try ProjectFolder("/nowhere", catalogue: PermissionBench.catalogue) }
        #expect(nowhere?.code == "manifest.not_found")
        try folder.write("app.json", String(repeating: " ", count: 2 << 20))
        #expect(error()?.message.contains("larger than") == true)
        let file = folder.path + "/app.json"
        unlink(file)
        mkfifo(file, 0o600)
        #expect(error()?.message.contains("is not a regular file") == true)
        unlink(file)
        mkdir(file, 0o700)
        #expect(error()?.message.contains("is not a regular file") == true)
        rmdir(file)
        try folder.write("app.json", String(repeating: "[", count: 100_000))
        #expect(error()?.code == "manifest.syntax")
        // Many unknown keys are not many times the work.
        let keys = (0..<20_000).map { "\"k\($0)\": 1" }.joined(separator: ",\n")
        try folder.write("app.json", text(keys))
        let begin = Clock.now
        let project = try ProjectFolder(folder.path, catalogue: PermissionBench.catalogue)
        #expect(project.manifest.warnings.count == 20)
        #expect(Clock.now - begin < 5_000)
    }
}
