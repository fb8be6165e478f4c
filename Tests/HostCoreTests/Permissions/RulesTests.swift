import ApsuleKit
import Foundation
import Testing

@testable import HostCore

@Suite struct RulesTests {
    @Test func undeclaredIsDeniedWithTheFix() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["storage": true], allowed: ["bluetooth"])
        let verdict = await authority.verdict()
        #expect(verdict.error?.code == "permission.denied")
        #expect(verdict.rule == "undeclared")
        #expect(verdict.error?.details["state"] == "undeclared")
        #expect(verdict.error?.details["fix"]?.stringValue?.contains("\"bluetooth\": true") == true)
        #expect(authority.status("bluetooth") == "undeclared")
        #expect(bench.prompter.asked.isEmpty)
        let line = try #require(bench.audit("denied").first)
        #expect(
            line["rule"] == "undeclared" && line["operation"] == "bluetooth.scan"
                && line["project"] == "com.example.app")
        #expect(bench.audit().count == 1)
    }

    @Test func nobodyToAskIsDeniedWithTheFix() async throws {
        let bench = try PermissionBench()
        let verdict = await (try bench.authority()).verdict()
        #expect(verdict.rule == "no_prompt")
        #expect(verdict.error?.details["fix"]?.stringValue?.contains("--allow bluetooth") == true)
        #expect(bench.audit("denied").count == 1 && bench.audit("prompt").first?["answer"] == "nobody")
    }

    @Test func onceIsForOneCall() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority()
        bench.prompter.answer(.once)
        #expect(await authority.verdict().isOnce)
        // The call itself stays within what is declared; other calls are asked about.
        let question = Question(operation: "bluetooth.scan", needs: [Need(permission: "bluetooth")])
        #expect(authority.allows(question, once: true))
        #expect(!authority.allows(question, once: false))
        #expect(await authority.verdict().rule == "no_prompt")
        #expect(bench.prompter.asked.count == 2)
        #expect(try bench.authority().status("bluetooth") == "prompt")
    }

    /// What a project asks for on purpose is given only where it lasts for the call that follows.
    @Test func aRequestTellsWhatTheNextCallWillFind() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority()
        for (answer, state) in [(PromptAnswer.once, "prompt"), (.run, "granted")] {
            bench.prompter.answer(answer)
            let told = await withCheckedContinuation { continuation in
                authority.request("bluetooth") { continuation.resume(returning: $0) }
            }
            #expect(told == state)
            #expect(await authority.verdict().isAllowed == (state == "granted"))
        }
    }

    @Test func runIsForThisRun() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority()
        bench.prompter.answer(.run)
        #expect(await authority.verdict().isAllowed)
        #expect(await authority.verdict(operation: "bluetooth.connect").isAllowed)
        #expect(bench.prompter.asked.count == 1)
        #expect(try bench.authority().status("bluetooth") == "prompt")
    }

    @Test func alwaysAndNeverLast() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.always, .never)
        let authority = try bench.authority(["bluetooth": true, "storage": true])
        #expect(await authority.verdict().isAllowed)
        #expect(await authority.verdict("storage").rule == "grant")
        let next = try bench.authority(["bluetooth": true, "storage": true], allowed: ["storage"])
        #expect(await next.verdict().isAllowed)
        // A no is stronger than a flag.
        let never = await next.verdict("storage")
        #expect(never.rule == "grant")
        #expect(
            never.error?.details["fix"]?.stringValue?.contains("permissions revoke com.example.app storage") == true)
        #expect(bench.prompter.asked.count == 2)
        #expect(bench.audit("granted").count == 1 && bench.audit("denied_always").count == 1)
    }

    @Test func noAnswerIsNo() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(PromptAnswer.none)
        let authority = try bench.authority()
        #expect(await authority.verdict().rule == "person")
        #expect(authority.status("bluetooth") == "prompt")
    }

    @Test func aWidenedDeclarationAsksAgainAndAShrunkDoesNot() async throws {
        let bench = try PermissionBench()
        func isAsked(_ permission: String, approved: JSON, now: JSON) async throws -> Bool {
            let id = "com.example.n\(UInt32.random(in: 0 ... .max))"
            bench.prompter.answer(.always)
            let first = try bench.authority(["\(permission)": approved], id: id)
            #expect(await first.verdict(permission, operation: "").isAllowed)
            return try bench.authority(["\(permission)": now], id: id).status(permission) == "prompt"
        }
        #expect(try await !isAsked("bluetooth", approved: true, now: true))
        #expect(try await !isAsked("bluetooth", approved: true, now: ["services": ["180d"]]))
        #expect(try await isAsked("bluetooth", approved: ["services": ["180d"]], now: true))
        #expect(try await isAsked("bluetooth", approved: ["services": ["180d"]], now: ["services": ["180d", "180f"]]))
        #expect(try await !isAsked("bluetooth", approved: ["services": ["180d", "180f"]], now: ["services": ["180F"]]))
        #expect(
            try await !isAsked(
                "bluetooth", approved: ["services": ["180d"]],
                now: ["services": ["0000180d-0000-1000-8000-00805f9b34fb"], "reason": "another"]))
        #expect(try await !isAsked("bluetooth", approved: ["services": ["180d"]], now: ["services": []]))
        #expect(try await isAsked("bluetooth", approved: ["services": []], now: ["devices": []]))
        #expect(try await !isAsked("calendar", approved: "write", now: "read"))
        #expect(try await !isAsked("calendar", approved: true, now: "write"))
        #expect(try await isAsked("calendar", approved: "read", now: "write"))
        #expect(try await isAsked("calendar", approved: "read", now: true))
        let (scan, both): (JSON, JSON) = (
            ["operations": ["scan": true]], ["operations": ["scan": true, "connect": true]]
        )
        #expect(try await !isAsked("bluetooth", approved: both, now: scan))
        #expect(try await isAsked("bluetooth", approved: scan, now: both))
        #expect(try await isAsked("bluetooth", approved: scan, now: true))
        #expect(try await isAsked("bluetooth", approved: ["operations": ["pair": false]], now: true))
        #expect(
            try await !isAsked(
                "bluetooth", approved: ["operations": ["pair": false]],
                now: ["operations": ["pair": false, "read": false]]))
    }

    @Test func theSameIdFromAnotherFolderIsAnotherProject() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.always)
        let first = try bench.authority(origin: "folder:/home/me/good#1@2")
        #expect(await first.verdict().isAllowed)
        let second = try bench.authority(origin: "folder:/tmp/evil#3@2")
        #expect(second.status("bluetooth") == "prompt")
        _ = await second.verdict()
        // And a person is told.
        #expect(bench.prompter.asked.last?.otherPlaces == ["/home/me/good"])
        #expect(TerminalPrompter.question(try #require(bench.prompter.asked.last)).contains("comes from /home/me/good"))
        // The inode is part of it: a folder put in the place of another is another.
        #expect(try bench.authority(origin: "folder:/home/me/good#9@2").status("bluetooth") == "prompt")
    }

    @Test func aFolderIsKnownByItsRealPath() throws {
        let folder = try TemporaryFolder()
        try folder.write("app/x", "")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/link", withDestinationPath: folder.path + "/app")
        let direct = try ProjectIdentity(id: "a.b", path: folder.path + "/app")
        #expect(try ProjectIdentity(id: "a.b", path: folder.path + "/link") == direct)
        #expect(try ProjectIdentity(id: "a.b", path: folder.path + "/app/../app/") == direct)
        try FileManager.default.moveItem(atPath: folder.path + "/app", toPath: folder.path + "/old")
        try folder.write("app/x", "")
        #expect(try ProjectIdentity(id: "a.b", path: folder.path + "/app") != direct)
        #expect(direct.place == folder.path + "/app")
        #expect(ProjectIdentity(id: "a", origin: "folder:/x/a#b#12@3").place == "/x/a#b")
    }

    @Test func flagsAreForThisProcess() async throws {
        let bench = try PermissionBench()
        #expect(await (try bench.authority(allowed: ["bluetooth"])).verdict().isAllowed)
        #expect(try bench.authority().status("bluetooth") == "prompt")
        #expect(try GrantStore(state: bench.state).grants().isEmpty)
    }

    @Test func expiredGrantsAreAskedAboutAgain() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority()
        try authority.grant("bluetooth", Declaration(), expires: Clock.wall + 150)
        let verdict = await authority.verdict()
        guard case .allowed(once: false, let expires?) = verdict else {
            Issue.record("\(verdict)")
            return
        }
        #expect(expires > Clock.wall)
        // The gate forgets it at that time.
        let gate = Gate(authority: authority)
        let question = Question(operation: "bluetooth.scan", needs: [Need(permission: "bluetooth")])
        await withCheckedContinuation { done in gate.check(question) { _ in done.resume() } }
        #expect(gate.isAllowed(question))
        try await eventually { Clock.wall > expires }
        #expect(!gate.isAllowed(question))
        try await eventually { authority.status("bluetooth") == "prompt" }
    }

    @Test func levelsAreOrdered() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["calendar": "read"], allowed: ["calendar"])
        #expect(await authority.verdict("calendar", level: "read").isAllowed)
        #expect(await authority.verdict("calendar", level: "write").rule == "scope")
        // A level that the catalogue does not know is never enough.
        #expect(await authority.verdict("calendar", level: "admin").rule == "scope")
        let operation = try Descriptor(FakeHost.descriptor).operation("calendar")
        #expect(operation?.permission?.level == "write")
    }

    @Test func operationsAreSwitchedOnAndOff() async throws {
        let bench = try PermissionBench()
        let off = try bench.authority(["bluetooth": ["operations": ["bluetooth.pair": false]]], allowed: ["bluetooth"])
        #expect(await off.verdict(operation: "bluetooth.scan").isAllowed)
        #expect(await off.verdict(operation: "bluetooth.pair").rule == "scope")
        let on = try bench.authority(["bluetooth": ["operations": ["scan": true]]], allowed: ["bluetooth"])
        #expect(await on.verdict(operation: "bluetooth.scan").isAllowed)
        #expect(await on.verdict(operation: "bluetooth.pair").rule == "scope")
        let both = ["operations": ["bluetooth.scan": true, "scan": false]] as JSON
        #expect(await (try bench.authority(["bluetooth": both], allowed: ["bluetooth"])).verdict().rule == "scope")
        // Asking for the permission is no use of it.
        bench.prompter.answer(.run)
        let asking = try bench.authority(["bluetooth": ["operations": ["scan": true]]])
        let state = await withCheckedContinuation { done in asking.request("bluetooth") { done.resume(returning: $0) } }
        #expect(state == "granted")
    }

    @Test(arguments: [
        (["180d"], "180d", true), (["0x180D"], "180d", true), (["180D"], "0000180d-0000-1000-8000-00805f9b34fb", true),
        (["0000180D-0000-1000-8000-00805F9B34FB"], "0x180d", true), (["180d"], "0000180d", true),
        (["180d"], "180f", false), (["180d"], "180d0000-0000-1000-8000-00805f9b34fb", false), ([], "180d", false),
        ([], "*", false), (["180d"], "*", false), (["180d"], "", false), (["180d"], "18 0d", false),
        (["6e400001-b5a3-f393-e0a9-e50e24dcca9e"], "6E400001-B5A3-F393-E0A9-E50E24DCCA9E", true),
    ])
    func servicesAreComparedAsUUIDs(_ declared: [String], _ value: String, _ isAllowed: Bool) async throws {
        let bench = try PermissionBench()
        let list = JSON.array(declared.map { .string($0) })
        let authority = try bench.authority(["bluetooth": ["services": list]], allowed: ["bluetooth"])
        let verdict = await authority.verdict(scopes: ["services": [value]])
        #expect(verdict.isAllowed == isAllowed)
        if !isAllowed { #expect(verdict.rule == "scope") }
        // Every value has to fit.
        #expect(await !authority.verdict(scopes: ["services": [value, "ffff"]]).isAllowed)
        #expect(await authority.verdict(scopes: ["services": []]).isAllowed)
    }

    @Test func scopesAreTakenFromTheArguments() throws {
        let guarded = try #require(try Descriptor(FakeHost.descriptor).operation("guarded"))
        func values(_ arguments: JSON) -> [String]? { Question(guarded, arguments).needs.first?.scopes["services"] }
        #expect(values(["services": ["a", "b"]]) == ["a", "b"])
        #expect(values(["services": "a"]) == ["a"])
        #expect(values([:]) == nil)
        // Whatever it is, it is compared, and not left out.
        #expect(
            values(["services": [1, true, ["a": 1]]]) == ["00000001-0000-1000-8000-00805f9b34fb", "true", "{\"a\":1}"])
        let path = try #require(try Descriptor(FakeHost.descriptor).operation("path"))
        #expect(Question(path, ["from": "a"]).needs.map(\.permission) == ["storage"])
        #expect(Question(path, ["from": "a", "when": false]).needs.map(\.permission) == ["storage", "network"])
    }

    @Test func severalPermissionsAreAllAskedFor() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["bluetooth": true, "storage": true])
        let both = Question(operation: "x.y", needs: [Need(permission: "bluetooth"), Need(permission: "storage")])
        bench.prompter.answer(.once, .run)
        #expect(await authority.verdict(both).isOnce)
        bench.prompter.answer(.once)
        #expect(await authority.verdict(both).isOnce)
        bench.prompter.answer(.run)
        #expect(await !authority.verdict(both).isOnce)
        #expect(bench.prompter.asked.map(\.permission) == ["bluetooth", "storage", "bluetooth", "bluetooth"])
        let undeclared = Question(operation: "x.y", needs: [Need(permission: "bluetooth"), Need(permission: "camera")])
        #expect(await authority.verdict(undeclared).rule == "undeclared")
        let unknown = Question(operation: "x.y", needs: [Need(permission: "teleport")])
        #expect(await authority.verdict(unknown).rule == "unknown")
    }
}

/// Scopes of hosts, from the manifest and the arguments to the verdict.
@Suite struct HostRulesTests {
    private static let network: JSON = [
        "apsule": 1, "family": "net", "version": "1.0.0", "summary": "Connects.",
        "permission": ["name": "network", "scopes": ["hosts"]],
        "operations": [
            "get": [
                "summary": "Gets.", "scope": ["hosts": ["argument": "url", "match": "origin"]],
                "arguments": ["type": "object", "properties": ["url": ["type": "string"]]],
            ]
        ],
    ]

    @Test func aCallIsJudgedByTheOriginOfItsURL() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(
            ["network": ["hosts": ["https://*.example.com"]]], allowed: ["network"])
        let get = try #require(try Descriptor(Self.network).operations.first)
        for (url, isAllowed) in [
            ("https://a.example.com/x?y", true), ("https://A.EXAMPLE.com:443/other", true),
            ("http://a.example.com", false),
            ("https://evil.org/a.example.com", false), ("https://a.example.com\\@evil.org", false),
            ("nonsense url", false),
            ("https://a.example.com 93.184.216.34", false), ("https://a.example.com @evil.org", false),
        ] {
            let verdict = await authority.verdict(Question(get, ["url": .string(url)]))
            #expect(verdict.isAllowed == isAllowed, "\(url)")
            #expect(isAllowed || verdict.rule == "scope")
        }
        // One answer for all of an origin: the gate keeps it, and the audit counts it.
        #expect(
            Question(get, ["url": "https://a.example.com/x"]) == Question(get, ["url": "https://A.example.com:443/y?z"])
        )
        #expect(
            Question(get, ["url": "https://a.example.com/x"]).needs[0].scopes == [
                "hosts": ["https://a.example.com:443"]
            ])
    }

    /// What a plugin asks about while a call runs: where it was redirected to, and what a name resolved to.
    @Test func redirectsAndResolvedAddressesAreJudgedToo() throws {
        let bench = try PermissionBench()
        let gate = Gate(
            authority: try bench.authority(
                ["network": ["hosts": ["example.com", "192.168.1.5"]]], allowed: ["network"]))
        let get = try #require(try Descriptor(Self.network).operations.first)
        func allows(_ value: String) -> Bool { gate.allows(get, scope: "hosts", value: value, once: false) }
        #expect(allows("https://example.com/next"))
        #expect(!allows("https://other.example.com/next"))
        #expect(allows("https://example.com 93.184.216.34"))
        #expect(!allows("https://example.com 127.0.0.1"))
        #expect(allows("https://example.com 192.168.1.5"))
    }

    @Test func anUnlimitedScopeStopsAtThisDevice() async throws {
        let bench = try PermissionBench()
        let authority = try bench.authority(["network": true], allowed: ["network"])
        let get = try #require(try Descriptor(Self.network).operations.first)
        #expect(await authority.verdict(Question(get, ["url": "https://example.com/"])).isAllowed)
        let verdict = await authority.verdict(Question(get, ["url": "http://2130706433/"]))
        #expect(verdict.rule == "scope")
        #expect(verdict.error?.details["reason"]?.stringValue?.contains("this device itself") == true)
    }

    @Test func anEntryForThisDeviceIsAskedAbout() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.always)
        let get = try #require(try Descriptor(Self.network).operations.first)
        let question = Question(get, ["url": "https://example.com/"])
        #expect(await (try bench.authority(["network": true])).verdict(question).isAllowed)
        // Fewer hosts than "all of the Internet" need no new answer; this device was not among those.
        #expect(await (try bench.authority(["network": ["hosts": ["example.com"]]])).verdict(question).isAllowed)
        let wider = await (try bench.authority(["network": ["hosts": ["example.com", "127.0.0.1"]]])).verdict(question)
        #expect(wider.rule == "no_prompt")
    }

    @Test func aShrunkListOfHostsNeedsNoNewAnswer() async throws {
        let bench = try PermissionBench()
        bench.prompter.answer(.always)
        let get = try #require(try Descriptor(Self.network).operations.first)
        let question = Question(get, ["url": "https://a.example.com/"])
        #expect(await (try bench.authority(["network": ["hosts": ["*.example.com"]]])).verdict(question).isAllowed)
        for hosts: JSON in [["https://a.example.com"], ["a.example.com", "*.b.example.com"], ["*.example.com:443"]] {
            #expect(await (try bench.authority(["network": ["hosts": hosts]])).verdict(question).rule != "no_prompt")
        }
        for hosts: JSON in [["*.example.com", "example.com"], ["a.example.com", "a.example.org"]] {
            #expect(await (try bench.authority(["network": ["hosts": hosts]])).verdict(question).rule == "no_prompt")
        }
    }

    @Test(arguments: [
        "", "*", "*.", "https://example.com/path", "http://*", "exa mple.com", "*.1.2.3.4", "a.*.com", "1.2.3.999",
    ])
    func entriesThatAreNoneAreRefused(entry: String) throws {
        let error = #expect(throws: HostError.self) {
            try PermissionBench.manifest(["network": ["hosts": ["ok.example", .string(entry)]]])
        }
        #expect(error?.code == "manifest.invalid")
        #expect(error?.message.contains("example.com") == true)
    }

    /// A number is a UUID of 16 bits, and none whose digits it has.
    @Test func numbersAreUUIDs() throws {
        let descriptor = try Descriptor(FakeHost.descriptor)
        let guarded = try #require(descriptor.operations.first { $0.name == "guarded" })
        let question = Question(guarded, ["services": [0x180d, "180D", "0x180d"]])
        let uuid = "0000180d-0000-1000-8000-00805f9b34fb"
        #expect(question.needs[0].scopes == ["services": [uuid, uuid, uuid]])
    }
}
