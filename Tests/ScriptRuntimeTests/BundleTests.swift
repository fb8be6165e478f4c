import ApsuleKit
import Foundation
import HostCore
import ScriptRuntime
import ScriptText
import Testing

@Suite struct BundleTests {
    @Test(arguments: [
        ("import x from 'y'", true), ("import 'y'", true), ("import{a}from'y'", true), ("export default 1", true),
        ("export { a }", true), ("const x = await import('./y.js')", true), ("console.log(import.meta.url)", true),
        ("const a = 1\nexport const b = a", true), ("`${1}`; import x from 'y'", true), ("/'/; import 'x'", true),
        ("const a = 1 / 2; import 'x' /", true), ("// import x from 'y'", false), ("/* export default 1 */", false),
        ("const s = 'import x from y'", false), ("const t = `\nimport x\n${`export ${1}`}\nexport y`", false),
        ("host.x.import({ export: 1 }); module.exports = 1", false), ("const r = /import x/", false),
        ("const important = 1; exports.a = important", false), ("x.export()", false),
        ("a = b\n/import c/.test(d)", true),
        ("#!/usr/bin/import x\nconst a = 1", false), ("const r = /[/]import /.test('x')", false),
    ])
    func findsModules(_ source: String, _ isNeeded: Bool) {
        #expect(ScriptBundle.isNeeded(path: "main.js", source: source) == isNeeded)
    }

    @Test func typeScriptIsBundledByItsName() {
        for name in ["a.ts", "b/c.TSX", "d.mjs", "e.mts", "f.jsx"] {
            #expect(ScriptBundle.isNeeded(path: name, source: "1"))
        }
        for name in ["a.js", "b.json", "ts"] { #expect(!ScriptBundle.isNeeded(path: name, source: "1")) }
        let missing = ScriptBundle(path: "a.ts", source: "").missing
        #expect(missing.code == "script.bundler_missing")
        #expect(missing.details["fix"] == "apt-get install esbuild")
    }

    static let files = [
        "src/main.ts": """
        import { helper, type Thing } from "../lib/helper";
        import data from "./data.json";
        interface Count { n: number }
        const state: Count = { n: 1 };
        export const other = 5, named = "x";
        export default function twice(n: number): number { return 2 * n; }
        const actions = {
            add(by: number): Count { state.n += by; return state; },
        };
        console.log(helper({ a: 1 } as Thing), data.x, import.meta.url, await Promise.resolve(7));
        console.log((await import("./lazy")).lazy, typeof require, __filename);
        if (data.fail) helper({ a: 2 });
        """,
        "src/data.json": "{\"x\": 1, \"fail\": false}",
        "src/lazy.ts": "export const lazy = 'lazy', state = 3;",
        "lib/helper.ts": """
        export interface Thing { a: number }

        export function helper(thing: Thing): number {
            if (thing.a > 1) throw new RangeError("too big");
            return thing.a;
        }
        """,
    ]

    @Test func runsTypeScript() throws {
        let folder = try Folder(Self.files)
        let project = Project(try FakePort())
        let record = project.run(try folder.bundle("src/main.ts"))
        #expect(record.failure == nil, "\(record.failure?.summary ?? "")")
        #expect(record.lines == ["1 1 project:///src/main.ts 7", "lazy function src/main.ts"])
        #expect(project.ask { $0.readState(completion: $1) } == #"{"n":1}"#)
        #expect(project.ask { $0.invokeAction("add", Payload(4), completion: $1) } == #"{"n":5}"#)
    }

    @Test func errorsNameTheOriginalPlace() throws {
        var files = Self.files
        files["src/data.json"] = "{\"x\": 1, \"fail\": true}"
        let record = Project(try FakePort()).run(try Folder(files).bundle("src/main.ts"))
        let failure = try #require(record.failure)
        #expect(failure.name == "RangeError")
        #expect((failure.file, failure.line) == ("lib/helper.ts", 4))
        #expect(failure.frames.map(\.file) == ["lib/helper.ts", "src/main.ts"])
        #expect(failure.frames.last?.line == 12)
        #expect(failure.codeFrame?.contains("> 4 |     if (thing.a > 1) throw new RangeError(\"too big\");") == true)
    }

    @Test func positionsOnTheFirstLine() throws {
        let source = "const a: number = 1; throw new Error(`at ${a}`); export const b = 1;"
        let record = Project(try FakePort()).run(try Folder(["main.ts": source]).bundle("main.ts"))
        #expect(record.failure?.message == "at 1")
        #expect((record.failure?.line, record.failure?.column) == (1, 32))
        #expect(record.failure?.codeFrame?.hasPrefix("> 1 | const a: number = 1; throw") == true)
    }

    @Test func exportsAreReachableWhileTheScriptRuns() throws {
        let files = [
            "main.mjs":
                "export { state, actions } from './shared.mjs'; export default 1; setInterval(() => {}, 1000); console.log('on'); await new Promise(() => {});",
            "shared.mjs": "export const state = { n: 2 }; export const actions = { get: () => state };",
        ]
        let project = Project(try FakePort())
        project.runtime.run(try Folder(files).bundle("main.mjs"))
        #expect(project.wait { $0.lines == ["on"] })
        #expect(project.ask { $0.readState(completion: $1) } == #"{"n":2}"#)
        #expect(project.ask { $0.invokeAction("get", Payload(1), completion: $1) } == #"{"n":2}"#)
        project.stop()
    }

    @Test(arguments: [
        (["src/a.ts": "import x from './none'; x;"], "src/a.ts", "src/a.ts", 1, 15),
        (["a.ts": "let ok = 1;\nconst x = ;"], "a.ts", "a.ts", 2, 11),
        (["src/a.ts": "import '../b';", "b.ts": "\n\nlet = = 1;"], "src/a.ts", "b.ts", 3, 7),
        (["a.ts": "import fs from 'fs';\nfs;"], "a.ts", "a.ts", 1, 16),
    ])
    func failures(_ files: [String: String], _ path: String, _ file: String, _ line: Int, _ column: Int) throws {
        let folder = try Folder(files)
        let (output, errors) = try folder.esbuild(ScriptBundle(path: path, source: files[path] ?? ""))
        #expect(output.isEmpty)
        let failure = ScriptBundle(path: path, source: files[path] ?? "").failure(errors) { files[$0] }
        #expect(failure.code == "script.bundle_failed")
        #expect((failure.file, failure.line, failure.column) == (file, line, column))
        #expect(failure.codeFrame?.contains("> \(line) | ") == true)
    }

    @Test func sourceMapsThatAreNone() {
        for text in [
            "{}", #"{"version":2,"mappings":""}"#, #"{"version":3,"mappings":"?"}"#,
            #"{"version":3,"mappings":"AAAAAA"}"#,
        ] {
            #expect(throws: HostError.self) { try SourceMap(JSON(parsing: Array(text.utf8))) }
        }
        #expect(throws: HostError.self) { try ScriptBundle(path: "a.ts", source: "").script(Array("let a".utf8)) }
    }

    @Test func sourceMapLookup() throws {
        let json: JSON = ["version": 3, "sources": ["a.js", "b.js"], "mappings": "AAAA,IAAM;;gBCCN,C"]
        let map = try SourceMap(json)
        func place(_ line: Int, _ column: Int) -> String? {
            map.original(line: line, column: column).map { "\($0.file):\($0.line):\($0.column)" }
        }
        #expect(place(1, 1) == "a.js:1:1")
        #expect(place(1, 4) == "a.js:1:1")
        #expect(place(1, 5) == "a.js:1:7")
        #expect(place(2, 1) == nil)
        #expect(place(3, 17) == "b.js:2:1")
        #expect(place(3, 18) == nil)
        #expect(place(9, 1) == nil)
    }
}

extension Project {
    @discardableResult
    func run(_ script: Script) -> Record {
        runtime.run(script)
        #expect(wait { $0.settled > 0 || $0.failure != nil }, "the script neither settled nor failed")
        return snapshot
    }
}

/// A project's files on disk, for as long as it lives.
final class Folder {
    private let url: URL

    init(_ files: [String: String]) throws {
        url = FileManager.default.temporaryDirectory.appending(path: "apsule-bundle-\(UUID().uuidString)")
        for (path, text) in files {
            let file = url.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func bundle(_ path: String) throws -> Script {
        let source = try String(contentsOf: url.appending(path: path), encoding: .utf8)
        let bundle = ScriptBundle(path: path, source: source)
        let (output, errors) = try esbuild(bundle)
        #expect(errors.isEmpty, "\(String(decoding: errors, as: UTF8.self))")
        return try bundle.script(output)
    }

    /// Runs the command as a parent would.
    func esbuild(_ bundle: ScriptBundle) throws -> (output: [UInt8], errors: [UInt8]) {
        let (process, input, output, errors) = (Process(), Pipe(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: ScriptBundle.executable)
        process.arguments = bundle.arguments
        process.currentDirectoryURL = bundle.folder.isEmpty ? url : url.appending(path: bundle.folder)
        (process.standardInput, process.standardOutput, process.standardError) = (input, output, errors)
        try process.run()
        try input.fileHandleForWriting.write(contentsOf: Data(bundle.input))
        try input.fileHandleForWriting.close()
        let result = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
        let complaint = [UInt8](errors.fileHandleForReading.readDataToEndOfFile())
        process.waitUntilExit()
        return (result, complaint)
    }
}
