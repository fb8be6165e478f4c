import ApsuleKit
import HostCore
import ScriptRuntime
import ScriptText
import Testing

@Suite struct ConsoleTests {
    @Test(arguments: [
        ("1, -0, 2.5, NaN, 12n, true, null, undefined", "1 -0 2.5 NaN 12n true null undefined"),
        ("'text', ['text'], Symbol('s')", "text [ 'text' ] Symbol(s)"),
        ("[], {}, [[]], [{}]", "[] {} [ [] ] [ {} ]"),
        ("{ a: { b: { c: { d: 1 } } } }", "{ a: { b: { c: [Object] } } }"),
        ("{ a: [[[[1]]]] }", "{ a: [ [ [Array] ] ] }"),
        ("(() => { const a = { n: 1 }; a.self = a; return a; })()", "{ n: 1, self: [Circular] }"),
        ("new Map([['k', { v: 1 }]]), new Set([1, 'b'])", "Map(1) { 'k' => { v: 1 } } Set(2) { 1, 'b' }"),
        ("new Uint8Array([1, 2]), new ArrayBuffer(3)", "Uint8Array(2) [ 1, 2 ] ArrayBuffer { byteLength: 3 }"),
        ("() => 1, function named() {}, class Kind {}", "[Function (anonymous)] [Function: named] [class Kind]"),
        ("new (class Point { x = 1 })(), Object.create(null)", "Point { x: 1 } [Object: null prototype] {}"),
        (
            "{ get a() { return 1; }, set b(v) {}, 'x-y': 1, [Symbol('k')]: 2 }",
            "{ a: [Getter], b: [Setter], 'x-y': 1, [Symbol(k)]: 2 }"
        ),
        ("[1, , 3, , ,]", "[ 1, <1 empty item>, 3, <2 empty items> ]"),
        (
            "new Date(0), /a\\\\/b/g, Promise.resolve(1), new WeakMap()",
            "1970-01-01T00:00:00.000Z /a\\/b/g Promise {} WeakMap { <items unknown> }"
        ),
        ("'%s=%d %i %f %j %O %%', 'a', '4', 4.9, '1.5', { b: 1 }, [1], 'rest'", "a=4 4 1.5 {\"b\":1} [ 1 ] % rest"),
        ("'%s', { toString() { throw 1; } }, '%s'", "{ toString: [Function: toString] } %s"),
        ("'100%', 5", "100% 5"),
        ("[\"it's\", 'tab\\\\t', '\\\\u202eevil\\\\u0007']", #"[ "it's", 'tab\t', '\u{202e}evil\u{7}' ]"#),
        ("[Object(1), Object('s')]", "[ [Number: 1], [String: 's'] ]"),
        ("{ e: new RangeError('bad') }", "{ e: [RangeError: bad] }"),
    ])
    func formats(_ values: String, _ text: String) throws {
        #expect(Project.output(try FakePort(), "console.log(\(values.replacing("\\\\", with: "\\")))") == [text])
    }

    @Test func boundsEverything() throws {
        let lines = Project.output(
            try FakePort(),
            """
            console.log(Array.from({ length: 250 }, (_, n) => n).length, [Array(1e6)].length);
            console.log(Array.from({ length: 1000 }, (_, n) => ({ n, text: "x".repeat(2000) })));
            console.log(["y".repeat(1e6)]);
            console.log("z".repeat(2e6));
            let deep = {}; for (let n = 0; n < 1e5; n++) deep = { deep };
            console.dir(deep, { depth: 1e9 });
            console.log(new Proxy({}, { ownKeys() { throw new Error("no"); } }));
            console.log(Array(1e9));
            """)
        #expect(lines.count == 7)
        #expect(lines[1].utf8.count < 300_000)
        #expect(lines[2].utf8.count < 11_000 && lines[2].hasSuffix("… 990000 more characters\n]"))
        #expect(lines[3].utf16.count == 2_000_000)
        #expect(lines[5] == "[cannot be shown: no]")
        #expect(lines[6].contains("more items"))
    }

    @Test func levelsAndHelpers() throws {
        let project = Project(try FakePort())
        let record = project.run(
            """
            console.debug("d"); console.info("i"); console.warn("w"); console.error("e");
            console.assert(true, "no"); console.assert(1 > 2, "sum", 1);
            console.count(); console.count("x"); console.count(); console.countReset(); console.count();
            console.group("g"); console.log("one\\ntwo"); console.group(); console.log("in"); console.groupEnd(); console.groupEnd(); console.log("out");
            console.time("t"); console.timeEnd("t"); console.timeEnd("t");
            console.table(new Map([["a", 1]])); console.table(7);
            function traced() { console.trace("here"); }
            traced();
            """)
        #expect(record.levels.prefix(4) == [.debug, .info, .warning, .error])
        #expect(record.lines[4] == "Assertion failed: sum 1")
        #expect(record.lines[5...8] == ["default: 1", "x: 1", "default: 2", "default: 1"])
        #expect(record.lines[9...12] == ["g", "  one\n  two", "    in", "out"])
        #expect(record.lines[13].wholeMatch(of: /t: [0-9.]+ms/) != nil)
        #expect(record.lines[14] == "There is no timer \"t\"")
        #expect(record.lines[15].hasPrefix("┌─────────┬"))
        #expect(record.lines[16] == "7")
        #expect(record.lines[17].hasPrefix("Trace: here\n    at traced (main.js:7:"))
    }

    @Test func errorsAreShownWithTheirStack() throws {
        let port = try CallTests.port()
        let lines = Project.output(
            port,
            """
            function fail() { throw new TypeError("wrong", { cause: 7 }); }
            try { fail(); } catch (e) { console.error(e); }
            await host.echo.fail().catch((e) => console.log(e));
            console.log(host, host.echo.player);
            """)
        #expect(lines[0].hasPrefix("TypeError: wrong\n    at fail (main.js:1:"))
        #expect(lines[0].hasSuffix("{ cause: 7 }"))
        #expect(lines[1].hasPrefix("HostError: It is broken. (echo.broken)\n    at main.js:3:"))
        #expect(lines[1].hasSuffix("{ details: { why: 'test' } }"))
        #expect(lines[2].hasPrefix("[host: echo]"))
    }
}
