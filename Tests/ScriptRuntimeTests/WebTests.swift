import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText
import Testing

/// What the script finds of the web's interfaces.
///
/// A line is a check that must be true.
@Suite struct WebTests {
    private func check(_ checks: String) throws {
        let lines = Project.output(
            try FakePort(),
            """
            const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
            const name = (work) => { try { work(); return "none"; } catch (e) { return e.name; } };
            const bytes = (...values) => new Uint8Array(values);
            \(checks.split(separator: "\n").map { "if (!(\($0))) console.log(\(JSON.string(String($0)).text));" }.joined(separator: "\n"))
            """)
        #expect(lines.isEmpty, "these do not hold: \(lines.joined(separator: "\n"))")
    }

    @Test func textEncoding() throws {
        try check(
            #"""
            same([...new TextEncoder().encode("aé€😀\0")], [97, 195, 169, 226, 130, 172, 240, 159, 152, 128, 0])
            same([...new TextEncoder().encode("a\ud800b")], [97, 239, 191, 189, 98])
            new TextEncoder().encode().length === 0 && new TextEncoder().encoding === "utf-8"
            same(new TextEncoder().encodeInto("a€b", new Uint8Array(3)), { read: 1, written: 1 })
            new TextDecoder().decode(new TextEncoder().encode("aé€😀\0b")) === "aé€😀\0b"
            new TextDecoder().decode(bytes(0xff, 97, 0xe2, 0x82, 98)) === "\ufffda\ufffdb"
            new TextDecoder().decode(bytes(0xf0, 0x9f, 0x98)) === "\ufffd" && new TextDecoder().decode(bytes(0xed, 0xa0, 0x80)) === "\ufffd\ufffd\ufffd"
            new TextDecoder().decode(bytes(0xc0, 0xaf, 0xf5, 0x80)) === "\ufffd\ufffd\ufffd\ufffd"
            name(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes(0xff))) === "TypeError"
            new TextDecoder("UTF8", { fatal: true }).decode(bytes(0xc3, 0xa9)) === "é"
            name(() => new TextDecoder("latin1")) === "RangeError"
            new TextDecoder().decode(bytes(0xef, 0xbb, 0xbf, 97)) === "a"
            new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes(0xef, 0xbb, 0xbf, 97)) === "\ufeffa"
            new TextDecoder().decode() === "" && new TextDecoder().decode(new ArrayBuffer(0)) === ""
            new TextDecoder().decode(bytes(1, 97, 98, 1).subarray(1, 3)) === "ab" && new TextDecoder().decode(new DataView(bytes(97).buffer)) === "a"
            (() => { const d = new TextDecoder(); let s = ""; for (const b of new TextEncoder().encode("a€😀é")) s += d.decode(bytes(b), { stream: true }); return s + d.decode() === "a€😀é"; })()
            (() => { const d = new TextDecoder(); return d.decode(bytes(0xe2, 0x82), { stream: true }) === "" && d.decode() === "\ufffd"; })()
            (() => { const d = new TextDecoder("utf-8", { fatal: true }); d.decode(bytes(0xe2), { stream: true }); return name(() => d.decode()) === "TypeError" && d.decode(bytes(97)) === "a"; })()
            (() => { const d = new TextDecoder(); return d.decode(bytes(0xe2, 0x28), { stream: true }) + d.decode() === "\ufffd("; })()
            (() => { const d = new TextDecoder(); return d.decode(bytes(0xef, 0xbb), { stream: true }) + d.decode(bytes(0xbf, 97), { stream: true }) + d.decode() === "a"; })()
            btoa("hello") === "aGVsbG8=" && btoa("\xff\0") === "/wA=" && btoa("") === "" && name(() => btoa("€")) === "InvalidCharacterError"
            atob("aGVsbG8=") === "hello" && atob(" aGVs\nbG8 ") === "hello" && atob("") === "" && atob("/wA=") === "\xff\0"
            ["a", "a===", "aGVsbG8==", "a-b_", "=", "ab=c"].every((text) => name(() => atob(text)) === "InvalidCharacterError")
            atob("YQ") === "a" && atob("YR==") === "a"
            """#)
    }

    @Test func structuredClones() throws {
        try check(
            """
            same(structuredClone({ a: [1, { b: null }], u: undefined }), { a: [1, { b: null }] })
            (() => { const a = { list: [] }; a.list.push(a); const b = structuredClone(a); return b !== a && b.list[0] === b; })()
            structuredClone(new Date(5)).getTime() === 5 && structuredClone(/x/gi).flags === "gi"
            structuredClone(new Map([[{ k: 1 }, new Set([1])]])).size === 1 && [...structuredClone(new Set([1, 2]))].length === 2
            (() => { const b = new ArrayBuffer(8), v = structuredClone({ x: new Uint8Array(b, 2, 3), y: new DataView(b) }); return v.x.buffer === v.y.buffer && v.x.byteOffset === 2 && v.x.length === 3 && v.x.buffer !== b; })()
            structuredClone(10n ** 30n) === 10n ** 30n && Object.is(structuredClone(-0), -0)
            structuredClone(new RangeError("r")) instanceof RangeError && structuredClone(new Error("e", { cause: { n: 1 } })).cause.n === 1
            [() => 1, Symbol("s"), { f() {} }, new WeakMap(), Promise.resolve()].every((value) => name(() => structuredClone(value)) === "DataCloneError")
            (() => { const b = new ArrayBuffer(4), c = structuredClone({ b }, { transfer: [b] }); return b.detached && c.b.byteLength === 4; })()
            Object.hasOwn(structuredClone(JSON.parse('{"__proto__":1}')), "__proto__")
            typeof structuredClone(Object("s")) === "object" && !("x" in structuredClone(new (class { get x() { return 1; } })()))
            (() => { const a = structuredClone([1, , 3]); return a.length === 3 && !(1 in a); })()
            """)
    }

    @Test func clocks() throws {
        try check(
            """
            (() => { const a = performance.now(), b = performance.now(); return a >= 0 && b >= a && a < 60000; })()
            Math.abs(performance.timeOrigin + performance.now() - Date.now()) < 1000
            typeof process === "undefined" && typeof window === "undefined" && typeof globalThis.native === "undefined"
            Object.getOwnPropertyDescriptor(globalThis, "setTimeout").enumerable === false
            name(() => { "use strict"; host = 1; }) === "TypeError"
            """)
    }

    /// Names beyond ASCII and numbers in disguise, from the tests of the URL standard; null where there is no host.
    @Test func hostNames() throws {
        let cases: [(String, String?)] = [
            ("faß.ExAmPlE", "xn--fa-hia.example"), ("日本語。ＪＰ", "xn--wgv71a119e.jp"), ("☕.us", "xn--53h.us"),
            ("نامه\u{200c}ای.com", "xn--mgba3gch31f060k.com"), ("क्\u{200d}ष.com", "xn--11b2ezcw70k.com"),
            ("a\u{200c}b.com", nil), ("a\u{200d}b.com", nil), ("\u{200c}.com", nil), ("\u{300}a.com", nil),
            ("a\u{ad}b.com", "ab.com"), ("\u{ad}", nil), ("GOO\u{200b}\u{2060}\u{feff}goo.com", "googoo.com"),
            ("\u{e0100}ü.com", "xn--tda.com"), ("≠.com", "xn--1ch.com"), ("①.com", "1.com"), ("ＧＯ.com", "go.com"),
            ("Ａ／b.com", nil), ("ﷺ.com", nil), ("\u{fffd}.com", nil), ("%ef%b7%90zyx.com", nil),
            ("%EF%BC%85%EF%BC%94%EF%BC%91.com", nil), ("０Ｘｃ０．０２５０．０１", "192.168.0.1"), ("أa.com", nil),
            ("אב.com", "xn--4dbc.com"), ("İ.com", "xn--i-9bb.com"), ("\u{345}.com", "xn--uxa.com"),
            ("xn--MNCHEN-3YA.de", "xn--mnchen-3ya.de"), ("xn--fa-hia.de", "xn--fa-hia.de"), ("xn--a", nil),
            ("xn--", nil), ("xn--zn7c.com", nil), ("xn--a-yoc", nil), ("xn--ls8h=", nil), ("xn--pokxncvks", nil),
            ("ab--c.com", "ab--c.com"), ("-a.com", "-a.com"), ("a-.ü", "a-.xn--tda"), ("ab..ü", "ab..xn--tda"),
            ("ü.", "xn--tda."), (String(repeating: "ä", count: 20_000), nil),
        ]
        let names = JSON.array(cases.map { .string($0.0) }).text
        let lines = Project.output(
            try FakePort(),
            """
            for (const name of \(names)) console.log(URL.canParse(`http://${name}/`) ? new URL(`http://${name}/`).hostname : null);
            """)
        for (line, (name, expected)) in zip(lines, cases) {
            #expect(line == expected ?? "null", "\(name.prefix(40))")
        }
        #expect(lines.count == cases.count)
        let long = Project.output(
            try FakePort(), #"console.log(new URL(`http://${"ü".repeat(70)}.com`).hostname.length)"#)
        #expect(long == ["80"])
    }

    @Test func urls() throws {
        try check(
            #"""
            new URL("HTTP://User:p%40ss@EXAMPLE.com:80/a/./b/../c?q=1#f").href === "http://User:p%40ss@example.com/a/c?q=1#f"
            new URL("../x?y", "https://h:8443/a/b/c").href === "https://h:8443/a/x?y" && new URL("//other/p", "wss://h/").href === "wss://other/p"
            new URL("http://0x7f.1/").hostname === "127.0.0.1" && new URL("http://2130706433/").hostname === "127.0.0.1"
            new URL("http://[1:0::0:0:2]:8080/").host === "[1::2]:8080" && new URL("http://[::ffff:1.2.3.4]/").host === "[::ffff:102:304]"
            new URL("http://münchen.de/ä").href === "http://xn--mnchen-3ya.de/%C3%A4" && new URL("http://ＥＸ.com").host === "ex.com"
            ["", "x", "http://", "http://a b", "http://1.2.3.4.5", "http://[::1", "http://h:65536", "http://%00", "http://xn--a"].every((text) => !URL.canParse(text))
            name(() => new URL("nothing")) === "TypeError" && URL.parse("nothing") === null && URL.parse("a:b").href === "a:b"
            new URL("file:///C|/x/../..").href === "file:///C:/" && new URL("mailto:a@b").pathname === "a@b"
            new URL("https://h:443").origin === "https://h" && new URL("blob:https://h/x").origin === "https://h" && new URL("file:///x").origin === "null"
            (() => { const u = new URL("http://h/p"); u.searchParams.append("a b", "ü&"); u.port = "81"; u.hash = "x y"; u.protocol = "https"; u.pathname = "/q r"; return u.href; })() === "https://h:81/q%20r?a+b=%C3%BC%26#x%20y"
            (() => { const u = new URL("http://h/?a=1"), p = u.searchParams; u.search = "b=2"; return p.get("b") === "2" && p.get("a") === null && u.searchParams === p; })()
            (() => { const u = new URL("http://h"); u.protocol = "foo"; u.port = "x"; u.host = ""; u.username = "u"; return u.href; })() === "http://u@h/"
            JSON.stringify({ u: new URL("a:b") }) === '{"u":"a:b"}' && String(new URL("a:b")) === "a:b"
            same([...new URLSearchParams("?a=1&b=2+3&a=%C3%A9&c")], [["a", "1"], ["b", "2 3"], ["a", "é"], ["c", ""]])
            new URLSearchParams({ x: "1", y: "ä" }).toString() === "x=1&y=%C3%A4" && new URLSearchParams([["a", "~"], ["b", "*"]]).toString() === "a=%7E&b=*"
            (() => { const p = new URLSearchParams("b=1&a=2&b=3"); p.sort(); p.delete("b", "3"); p.set("c", "4"); return `${p}|${p.size}|${p.has("b", "1")}|${[...p.keys()]}|${[...p.values()]}`; })() === "a=2&b=1&c=4|3|true|a,b,c|2,1,4"
            name(() => new URLSearchParams([["only"]])) === "TypeError"
            """#)
    }
}
