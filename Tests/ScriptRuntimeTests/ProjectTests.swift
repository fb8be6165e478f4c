import ApsuleKit
import Dispatch
import HostCore
import ScriptRuntime
import ScriptText
import Synchronization
import Testing

@Suite struct ProjectTests {
    // MARK: - Modules

    @Test func requiresFiles() throws {
        let files = [
            "lib/a.js": "exports.name = 'a'; exports.b = require('./b'); exports.data = require('../data.json');",
            "lib/b.js":
                "const a = require('./a.js'); module.exports = { sees: a.name, dir: __dirname, file: __filename };",
            "lib/index.js": "module.exports = 'index'; globalThis.loads = (globalThis.loads ?? 0) + 1;",
            "data.json": "{\"n\": 1}",
        ]
        let lines = Project.output(
            try FakePort(),
            """
            console.log(require("./lib/a.js"));
            console.log(require("./lib"), require("./lib/index.js"), require("./lib/"), loads, __filename, __dirname === "");
            console.log(require("./data.json") === require("./data"), module.loaded, module.filename);
            """, files: files)
        #expect(
            lines == [
                "{ name: 'a', b: { sees: 'a', dir: 'lib', file: 'lib/b.js' }, data: { n: 1 } }",
                "index index index 1 main.js true", "true false main.js",
            ])
    }

    @Test(arguments: [
        ("./none.js", #"There is no file "none.js" in the project (required by main.js)."#),
        ("../secret.js", #""../secret.js" leads out of the project's folder."#),
        ("./a/../../b.js", #""./a/../../b.js" leads out of the project's folder."#),
        (
            "lodash",
            #""lodash" cannot be required: only files of the project can, as "./file.js". For packages use import, which is bundled."#
        ),
        (
            "/etc/passwd",
            #""/etc/passwd" cannot be required: only files of the project can, as "./file.js". For packages use import, which is bundled."#
        ),
        ("./x.ts", #""./x.ts" cannot be required; use import, which is bundled."#),
    ])
    func refusesModules(_ request: String, _ message: String) throws {
        let lines = Project.output(
            try FakePort(),
            "try { require('\(request)') } catch (e) { console.log(e.code + '|' + e.message, e.line) }",
            files: ["x.ts": ""])
        #expect(lines == ["script.module_not_found|\(message) 1"])
    }

    @Test func aModuleThatFails() throws {
        let files = [
            "bad.js": "\n\nconst x = ;", "throws.js": "// one\nthrow new TypeError('inside')", "bad.json": "{",
        ]
        let record = Project(try FakePort(), files: files).run(
            """
            try { require("./bad.json"); } catch (e) { console.log(e.name, e.message.startsWith("bad.json: ")); }
            try { require("./throws.js"); } catch (e) { console.log(e.message, e.line, e.sourceURL); }
            require("./bad");
            """)
        #expect(record.lines == ["SyntaxError true", "inside 2 throws.js"])
        #expect(record.failure?.file == "bad.js")
        #expect(record.failure?.line == 3)
        #expect(record.failure?.name == "SyntaxError")
    }

    // MARK: - state and actions

    @Test(arguments: [
        "var state = { n: 1 }, actions = { add(by) { state.n += by.n; return state; } };",
        "let state = { n: 1 }; let actions = { add: (by) => { state.n += by.n; return state; } };",
        "\"use strict\"; const state = { n: 1 }; const actions = { add: async (by) => { state.n += by.n; return state; } };",
        "state = { n: 1 }; actions = { add: (by) => { state.n += by.n; return state; } };",
        "exports.state = { n: 1 }; exports.actions = { add: (by) => { exports.state.n += by.n; return exports.state; } };",
        "module.exports = { state: { n: 1 } }; globalThis.actions = { add: (by) => { module.exports.state.n += by.n; return module.exports.state; } };",
        "const state = { n: 1 }; const actions = { add: (by) => { state.n += by.n; return state; } }; return; throw 1;",
    ])
    func reachesStateAndActions(_ text: String) throws {
        let project = Project(try FakePort())
        let record = project.run(text)
        #expect(record.failure == nil)
        #expect(project.ask { $0.readState(completion: $1) } == #"{"n":1}"#)
        #expect(project.ask { $0.invokeAction("add", Payload(["n": 4]), completion: $1) } == #"{"n":5}"#)
        #expect(project.ask { $0.readState(completion: $1) } == #"{"n":5}"#)
        #expect(project.wait { $0.settled >= 2 })
    }

    @Test func strictScriptsStayStrict() throws {
        let lines = Project.output(
            try FakePort(),
            """
            #!/usr/bin/env apsule
            /* about */ // this
            'use strict';
            try { undeclared = 1; } catch (e) { console.log(e.name, e.line); }
            """)
        #expect(lines == ["ReferenceError 4"])
    }

    @Test func actionsThatFail() throws {
        let project = Project(try FakePort())
        let record = project.run(
            """
            const actions = {
                fails() { throw new RangeError("no"); },
                refuses() { throw new HostError("app.refused", "Not now.", { again: true }); },
                odd: () => ({ f() {} }),
                greet: (who) => "hello " + who,
            };
            """)
        #expect(record.failure == nil)
        func error(_ name: String) -> String? {
            project.ask { $0.invokeAction(name, Payload("x"), completion: $1) }
        }
        #expect(error("fails") == "script.failed: RangeError: no")
        #expect(error("refuses") == "app.refused: Not now.")
        #expect(error("odd") == "host.invalid_argument: f: expected a value that JSON has, got a function")
        #expect(error("gret") == #"script.action_unknown: The script has no action "gret". Did you mean "greet"?"#)
        #expect(error("toString") == #"script.action_unknown: The script has no action "toString"."#)
        #expect(error("greet") == #""hello x""#)
        #expect(project.failure == nil)
        project.stop()
        #expect(error("greet") == "script.stopped: The script ended before it answered.")
    }

    // MARK: - Errors

    @Test func uncaughtErrorsHaveTheirPlace() throws {
        let record = Project(try FakePort()).run(
            """
            const one = 1;
            function inner() {
                return null.x;
            }
            setTimeout(() => inner(), 1);
            """)
        let failure = try #require(record.failure)
        #expect(failure.name == "TypeError")
        #expect((failure.file, failure.line) == ("main.js", 3))
        #expect(failure.frames.map(\.function) == ["inner", ""])
        #expect(
            failure.codeFrame?.contains("> 3 |     return null.x;\n    |                ^") == true,
            "\(failure.codeFrame ?? "")")
        #expect(failure.json["line"] == 3)
    }

    @Test func columnsOfTheFirstLine() throws {
        let record = Project(try FakePort()).run("let a = 1; throw new Error('here');")
        #expect(record.failure?.line == 1)
        #expect(record.failure?.column == 27)
    }

    @Test(arguments: [
        ("Promise.reject(new Error('nobody'));", "Error", "nobody", 1),
        ("\n(async () => { throw new TypeError('async'); })();", "TypeError", "async", 2),
        ("\nthrow { plain: 1 };", "", "{ plain: 1 } was thrown, which is no Error", 0),
        ("queueMicrotask(() => { throw new Error('micro'); });", "Error", "micro", 1),
        ("let x = 1;\nlet x = 2;", "SyntaxError", "Cannot declare a let variable twice: 'x'.", 2),
        ("function f( {\n", "SyntaxError", "", 2),
        (
            "const e = new Error('odd'); Object.defineProperty(e, 'message', { get() { throw 1; } }); throw e;",
            "Error",
            "An error without a message", 1
        ),
        (
            "await new Promise(() => {});", "",
            "main.js awaits something that can no longer happen: no call, stream or timer is left.", 0
        ),
        ("import fs from './x.js';", "SyntaxError", "", 1),
    ])
    func fails(_ text: String, _ name: String, _ message: String, _ line: Int) throws {
        let record = Project(try FakePort()).run(text)
        let failure = try #require(record.failure)
        #expect(failure.name == name)
        if !message.isEmpty { #expect(failure.message == message) }
        #expect(failure.line ?? 0 == line)
        #expect(record.settled == 0)
    }

    @Test func handledRejectionsAreNoFailure() throws {
        let lines = Project.output(
            try FakePort(),
            """
            const later = Promise.reject(new Error("x"));
            await null;
            await later.catch((e) => console.log("caught", e.message));
            await Promise.allSettled([Promise.reject(1)]);
            """)
        #expect(lines == ["caught x"])
    }

    @Test func hostErrorsKeepTheirCode() throws {
        let port = try CallTests.port()
        let record = Project(port).run("await host.echo.back();\nawait host.echo.fail();")
        #expect(record.failure?.code == "echo.broken")
        #expect(record.failure?.line == 2)
        #expect(record.failure?.details["why"] == "test")
        #expect(record.failure?.summary == "main.js:2:21: HostError: It is broken. (echo.broken)")
    }

    @Test func theRuntimeStopsAfterAFailure() throws {
        let port = try CallTests.port()
        let project = Project(port)
        let record = project.run("host.echo.hang(); setInterval(() => console.log('on'), 5); throw new Error('end');")
        #expect(record.failure?.message == "end")
        #expect(project.wait { $0.isStopped })
        #expect(port.started[0].isCancelled)
        #expect(port.liveCount == 0)
    }

    @Test func evalIsOff() throws {
        let text =
            "for (const f of [() => eval('1'), () => new Function('return 1')()]) { try { console.log(f()) } catch (e) { console.log(e.name) } }"
        #expect(Project.output(try FakePort(), text) == ["EvalError", "EvalError"])
        let project = Project(try FakePort(), limits: ScriptLimits(memoryMB: 4_096, allowsEval: true))
        #expect(project.run(text).lines == ["1", "1"])
    }

    @Test func webAssemblyCompiles() throws {
        let lines = Project.output(
            try FakePort(),
            """
            const bytes = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 127, 3, 2, 1, 0, 7, 5, 1, 1, 102, 0, 0, 10, 6, 1, 4, 0, 65, 42, 11]);
            const module = await WebAssembly.compile(bytes);
            console.log((await WebAssembly.instantiate(module)).exports.f(), (await WebAssembly.instantiate(bytes)).instance.exports.f());
            await WebAssembly.compile(new Uint8Array(3)).catch((e) => console.log(e.name));
            """)
        #expect(lines == ["42 42", "CompileError"])
    }
}

extension Project {
    /// The answer to one of the runtime's questions, as JSON or as `code: message`.
    func ask(
        _ question: (ScriptRuntime, @escaping @Sendable (Result<Payload, HostError>) -> Void) -> Void
    ) -> String? {
        let answer = Mutex<String?>(nil)
        let done = DispatchSemaphore(value: 0)
        question(runtime) { result in
            answer.withLock {
                switch result {
                case .success(let payload): $0 = String(decoding: payload.json, as: UTF8.self)
                case .failure(let error): $0 = "\(error.code): \(error.message)"
                }
            }
            done.signal()
        }
        guard done.wait(timeout: .now() + 20) == .success else { return nil }
        return answer.withLock { $0 }
    }
}
