import ApsuleKit
import Foundation
import Glibc
import Testing

@testable import HostCore

@Suite struct PolicyTests {
    @Test func theOwnerDecides() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(
            ["bluetooth": true, "storage": true, "network": true],
            policy: """
                {"apsule": 1, "projects": {"com.example.app": {"allow": ["bluetooth", "storage"], "deny": ["network"]},
                 "*": {"deny": ["storage"]}}}
                """)
        #expect(await authority.verdict().isAllowed)
        // Deny beats allow, whoever says it.
        let denied = await authority.verdict("storage")
        #expect(denied.rule == "policy" && denied.error?.message.contains("policy.json") == true)
        #expect(await authority.verdict("network").rule == "policy")
        #expect(bench.prompter.asked.isEmpty)
        let flagged = try bench.authority(["network": true], allowed: ["network"])
        #expect(await flagged.verdict("network").rule == "policy")
        // It allows only what is declared.
        #expect(await (try bench.authority(["camera": true])).verdict().rule == "undeclared")
    }

    @Test func aPersonsNoIsStrongerThanThePolicysYes() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.never)
        _ = await (try bench.authority()).verdict()
        let policy = #"{"apsule": 1, "projects": {"*": {"allow": ["*"]}}}"#
        let authority = try bench.authority(["bluetooth": true, "storage": true], policy: policy)
        #expect(await authority.verdict().rule == "grant")
        #expect(await authority.verdict("storage").isAllowed)
        try authority.revoke("storage")
        #expect(await authority.verdict("storage").rule == "person")
    }

    @Test(arguments: [
        ("{\"apsule\": 1,\n \"projects\": {\"*\": {\"deny\": [\"network\"],}}}", "policy.json:2:"),
        ("{\"apsule\": 2, \"projects\": {}}", "\"apsule\": 1"), ("{\"apsule\": 1, \"projects\": 1}", "projects"),
        ("{\"apsule\": 1, \"project\": {}}", "did you mean projects?"), ("[]", "projects"),
        ("", "policy.json:1:1"), ("{\"apsule\": 1, \"projects\": {\"*\": {\"deny\": \"network\"}}}", "list"),
        ("{\"apsule\": 1, \"projects\": {\"*\": {\"deny\": [1]}}}", "list"),
        ("{\"apsule\": 1, \"projects\": {\"*\": {\"forbid\": []}}}", "neither allow nor deny"),
        ("{\"apsule\": 1, \"projects\": {\"*\": true}}", "object"),
    ])
    func anErrorIsSaidAndOpensNothing(_ text: String, _ expected: String) throws {
        let bench = try PermissionBench()
        let error = failure { try bench.authority(policy: text) }
        #expect(error?.code == "policy.invalid")
        #expect(error?.message.contains(expected) == true, "\(error?.message ?? "")")
        #expect(error?.details["fix"] != nil)
    }

    @Test func itMustBeTheOwnersAlone() throws {
        let bench = try PermissionBench()
        let valid = #"{"apsule": 1, "projects": {}}"#
        let file = try bench.folder.write("config/policy.json", valid)
        func error() -> String? {
            do {
                _ = try bench.authority()
                return nil
            } catch { return (error as? HostError)?.code }
        }
        #expect(error() == nil)
        for mode in [0o620, 0o602, 0o666, 0o777] as [mode_t] {
            chmod(file, mode)
            #expect(error() == "policy.not_owner_only", "\(String(mode, radix: 8))")
        }
        chmod(file, 0o644)
        #expect(error() == nil)
        if geteuid() == 0 {
            chown(file, 65_534, 65_534)
            #expect(error() == "policy.not_owner_only")
            chown(file, 0, 0)
        }
        rename(file, file + ".real")
        symlink(file + ".real", file)
        #expect(error() == "policy.invalid")
        unlink(file)
        mkdir(file, 0o700)
        #expect(error() != nil)
        rmdir(file)
        mkfifo(file, 0o600)
        #expect(error() != nil)
    }

    @Test func aSlipOfThePenIsSaid() throws {
        let folder = try TemporaryFolder()
        try folder.write("policy.json", #"{"apsule": 1, "projects": {"*": {"deny": ["blutooth", "*", "gadget"]}}}"#)
        let warnings = try Policy(configuration: folder.path).warnings(PermissionBench.catalogue)
        #expect(warnings.count == 1)
        #expect(warnings.first?.message.contains("did you mean bluetooth?") == true)
    }
}

/// The error that `body` throws.
func failure<R: ~Copyable>(_ body: () throws -> R) -> HostError? {
    do {
        _ = try body()
        return nil
    } catch { return error as? HostError }
}

/// The owner's settings of families.
@Suite struct PolicySettingsTests {
    private func settings(_ policy: String, id: String = "com.example.app") throws -> JSON {
        try PermissionBench().authority(id: id, policy: policy).settings
    }

    @Test func whatIsSaidOfAProjectWins() throws {
        let policy = """
            {"apsule": 1, "settings": {"bluetooth": {"adapter": "hci0", "blocklistOverrides": ["fido"]}, "storage": {"a": 1}},
             "projects": {"*": {"settings": {"bluetooth": {"adapter": "hci1"}}},
                          "com.example.app": {"allow": ["bluetooth"], "settings": {"bluetooth": {"adapter": "hci2"}}}}}
            """
        let mine = try settings(policy)
        #expect(mine["bluetooth"] == ["adapter": "hci2", "blocklistOverrides": ["fido"]])
        #expect(mine["storage"] == ["a": 1])
        #expect(try settings(policy, id: "com.example.other")["bluetooth"]?["adapter"] == "hci1")
        #expect(try settings(#"{"apsule": 1, "projects": {}}"#) == .object([]))
    }

    @Test(arguments: [
        #"{"apsule": 1, "projects": {}, "settings": []}"#,
        #"{"apsule": 1, "projects": {}, "settings": {"bluetooth": 1}}"#,
        #"{"apsule": 1, "projects": {"*": {"settings": true}}}"#,
        #"{"apsule": 1, "projects": {"*": {"settings": {"bluetooth": ["x"]}}}}"#,
    ])
    func malformedSettingsAreRefused(_ policy: String) {
        let error = failure { try settings(policy) }
        #expect(error?.code == "policy.invalid" && error?.message.contains("settings") == true)
    }
}
