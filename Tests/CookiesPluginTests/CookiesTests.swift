import ApsuleKit
import CookiesPlugin
import TestHost
import Testing

/// `host.cookies` through its plugin; the jar's own rules are tested beside it.
@Suite struct CookiesTests {
    let host: TestHost
    init() throws { host = try TestHost("cookies", CookiesPlugin.entry) }

    private func set(_ arguments: JSON) async -> HostError? {
        await failure { try await host.call("set", arguments) }
    }

    @Test func setListDeleteClear() async throws {
        #expect(await set(["url": "https://a.example/x", "name": "one", "value": "1", "sameSite": "lax"]) == nil)
        #expect(
            await set([
                "url": "https://www.a.example/", "name": "two", "value": "2", "domain": "a.example", "secure": true,
                "httpOnly": true, "path": "/deep", "maxAge": 60,
            ]) == nil)
        let all = try await host.call("list").arrayValue ?? []
        #expect(all.map { $0["name"]?.stringValue } == ["one", "two"])
        #expect(all[0]["hostOnly"] == true && all[0]["expires"] == .null && all[0]["sameSite"] == "lax")
        #expect(all[1]["hostOnly"] == false && all[1]["domain"] == "a.example" && all[1]["path"] == "/deep")
        #expect(all[1]["expires"]?.intValue ?? 0 > 1_700_000_000_000)
        let fitting = try await host.call("list", ["url": "https://b.a.example/deep/er"])
        #expect(fitting.arrayValue?.count == 1)
        #expect(try await host.call("list", ["domain": "A.example", "name": "one"]).arrayValue?.count == 1)
        #expect(try await host.call("delete", ["name": "two", "domain": "other.example"]) == 0)
        #expect(try await host.call("delete", ["name": "two"]) == 1)
        #expect(try await host.call("clear") == 1)
        #expect(try await host.call("list") == [])
    }

    @Test func setAgainReplacesAndMaxAgeZeroRemoves() async throws {
        _ = await set(["url": "http://a.example/", "name": "n", "value": "1"])
        _ = await set(["url": "http://a.example/", "name": "n", "value": "2"])
        #expect(try await host.call("list").arrayValue?.map { $0["value"] } == ["2"])
        _ = await set(["url": "http://a.example/", "name": "n", "value": "", "maxAge": 0])
        #expect(try await host.call("list") == [])
    }

    @Test(
        arguments: [
            ["url": "https://a.co.uk/", "name": "n", "value": "v", "domain": "co.uk"],
            ["url": "https://a.github.io/", "name": "n", "value": "v", "domain": "github.io"],
            ["url": "https://a.example/", "name": "n", "value": "v", "domain": "b.example"],
            ["url": "http://a.example/", "name": "n", "value": "v", "secure": true],
            ["url": "https://a.example/", "name": "__Host-n", "value": "v"],
            ["url": "https://a.example/", "name": "__host-n", "value": "v", "secure": true, "path": "/x"],
            ["url": "https://a.example/", "name": "__Secure-n", "value": "v"],
            ["url": "http://127.0.0.1/", "name": "n", "value": "v", "domain": "0.0.1"],
        ] as [JSON])
    func whatAHostMayNotHaveIsRefused(_ arguments: JSON) async {
        #expect(await set(arguments)?.code == "cookies.refused")
    }

    @Test(
        arguments: [
            ["url": "ftp://a.example/", "name": "n", "value": "v"],
            ["url": "https://a.example/", "name": "n", "value": "a;b"],
            ["url": "https://a.example/", "name": "n", "value": "a\nb"],
            ["url": "https://a.example/", "name": "n", "value": " a"],
        ] as [JSON])
    func whatIsMoreThanOneCookieIsRefused(_ arguments: JSON) async {
        #expect(await set(arguments)?.code == "host.invalid_argument")
    }
}
