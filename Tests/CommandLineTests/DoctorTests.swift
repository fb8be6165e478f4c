import ApsuleKit
import Foundation
import Glibc
import Testing

/// `apsule doctor`.
@Suite struct DoctorTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool(binary: GalleryInstallation.binary.get()) }

    private func checks(_ arguments: String..., environment: [String: String] = [:]) throws -> (Int32, [JSON]) {
        let run = try apsule.run(["doctor", "--json"] + arguments, environment: environment)
        return (run.status, try #require(run.json?["checks"]?.arrayValue, "\(run)"))
    }

    private func named(_ name: String, _ checks: [JSON]) throws -> JSON {
        try #require(checks.first { $0["name"]?.stringValue == name }, "\(checks.map(\.text))")
    }

    @Test func aSoundHostIsFineAndIsNotChanged() throws {
        let (status, checks) = try checks()
        #expect(status == 0)
        for name in ["apsule", "plugins", "libraries", "landlock", "grants", "policy", "gallery", "timer"] {
            #expect(try named(name, checks)["state"] == "fine")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: apsule.home.path) == [], "looking changes nothing")
        let text = try apsule.run("doctor").out
        #expect(text.contains("✓ gallery") && text.contains("ready 1.0.0") && !text.contains("\u{1b}"))
        #expect(try apsule.run("doctor", environment: ["LANG": "C"]).out.contains("ok gallery"))
    }

    @Test func whatIsAskedForByNameDecidesTheExitCode() throws {
        let off = ["GALLERY_PROBE": "off"]
        #expect(try checks("timer", environment: off).0 == 0)
        #expect(try checks(environment: off).0 == 0)
        let (status, found) = try checks("gallery", environment: off)
        #expect(status == 4)
        let gallery = try named("gallery", found)
        #expect(gallery["state"] == "problem" && gallery["fix"] == "Switch it on.")
        #expect(
            gallery["code"] == "gallery.unavailable" && gallery["text"]?.stringValue?.contains("It is off.") == true)
        let wrong = try apsule.run("doctor", "galery", "--json")
        #expect(wrong.status == 2 && wrong.error?["message"]?.stringValue?.contains("Did you mean gallery?") == true)
    }

    @Test func aProbeThatHangsHoldsNobodyUp() throws {
        let begin = ContinuousClock.now
        let (status, found) = try checks(
            "gallery", "timer", "--timeout", "300ms", environment: ["GALLERY_PROBE": "hang"])
        #expect(ContinuousClock.now - begin < .seconds(60))
        #expect(status == 4)
        #expect(try named("gallery", found)["text"]?.stringValue?.contains("300 ms") == true)
        #expect(try named("timer", found)["state"] == "fine", "the others are heard")
    }

    @Test func whatOthersCouldHaveWrittenIsSaid() throws {
        #expect(try apsule.run("call", "timer.sleep", "ms:=1").status == 0)
        let state = apsule.home.path + "/state/apsule"
        #expect(try named("grants.db", checks().1)["text"]?.stringValue?.hasPrefix("mode 0600") == true)
        chmod(state, 0o755)
        chmod(state + "/audit.jsonl", 0o644)
        try apsule.write("config/apsule/policy.json", #"{"apsule": 1, "projects": {"*": {"deny": ["netwrok"]}}}"#)
        chmod(apsule.home.path + "/config/apsule/policy.json", 0o600)
        var found = try checks().1
        #expect(try named(state, found)["fix"]?.stringValue == "chmod 700 \(state)")
        #expect(try named("audit.jsonl", found)["state"] == "warning")
        #expect(found.contains { $0["code"] == "policy.unknown_permission" && $0["state"] == "warning" })
        chmod(apsule.home.path + "/config/apsule/policy.json", 0o666)
        found = try checks().1
        #expect(try named("policy", found)["code"] == "policy.not_owner_only")
        try FileManager.default.removeItem(atPath: state + "/grants.db")
        symlink("/etc/passwd", state + "/grants.db")
        found = try checks().1
        #expect(try named("grants.db", found)["state"] == "problem")
        #expect(try named("grants", found)["code"] == "grants.not_owner_only")
    }

    @Test func trapsInTheEnvironmentAreNamed() throws {
        let found = try checks(environment: ["JSC_useJIT": "0", "SSLKEYLOGFILE": "/tmp/keys", "XDG_STATE_HOME": "here"])
            .1
        for name in ["JSC_useJIT", "SSLKEYLOGFILE", "XDG_STATE_HOME"] {
            #expect(try named(name, found)["state"] == "warning")
        }
    }
}
