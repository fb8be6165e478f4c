import ApsuleKit
import Foundation
import HostCore
import Testing

/// Whether a compiler is there: Debian's node-typescript.
private let hasCompiler = FileManager.default.isExecutableFile(atPath: "/usr/bin/tsc")

@Suite(.enabled(if: hasCompiler, "node-typescript is not installed: Scripts/setup --test"))
struct TypeScriptTests {
    /// What the compiler says of a script; empty: nothing.
    private func complaints(_ script: String, _ descriptors: [Descriptor]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "apsule-ts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(HostDeclarations.text(descriptors).utf8).write(to: folder.appending(path: "host.d.ts"))
        try Data(script.utf8).write(to: folder.appending(path: "main.ts"))
        let options: JSON = [
            "compilerOptions": [
                "strict": true, "noEmit": true, "target": "esnext", "module": "esnext", "moduleDetection": "force",
                "lib": ["esnext"], "types": [],
            ]
        ]
        try Data(options.bytes).write(to: folder.appending(path: "tsconfig.json"))
        return try compile(folder)
    }

    @Test func everyBundledOperationIsDeclared() throws {
        let descriptors = try ApsuleTool.manifests().map { try Descriptor(parsing: [UInt8](Data(contentsOf: $0))) }
        #expect(descriptors.count >= 4)
        var script = ""
        for operation in descriptors.flatMap(\.operations) {
            script += "const \(operation.fullName.replacing(".", with: "_")) = host.\(operation.fullName);\n"
            for (method, _) in operation.handle?.methods ?? [] {
                script +=
                    "type \(operation.fullName.replacing(".", with: "_"))_\(method) = Extract<Awaited<ReturnType<typeof host.\(operation.fullName)>>, object>[\"\(method)\"];\n"
            }
        }
        expectFine(try complaints(script, descriptors))
        // The same compiler does notice what is missing.
        #expect(try complaints("host.runtime.discovery();", descriptors).contains("Did you mean 'discover'?"))
    }

    @Test func everythingADescriptorCanSayHasItsType() throws {
        let script = String(
            decoding: try Data(contentsOf: ApsuleTool.samples.appending(path: "radio.ts")), as: UTF8.self)
        let family = try Descriptor(
            parsing: [UInt8](Data(contentsOf: ApsuleTool.samples.appending(path: "radio.json"))))
        expectFine(try complaints(script, [family]))
    }

    @Test func textOfDescriptorsCannotLeaveItsComment() throws {
        let family = try Descriptor([
            "apsule": 1, "family": "demo", "version": "1.0.0", "summary": "*/ declare const evil: 1; /*",
            "operations": [
                "delete": [
                    "summary": "a */ b\n*/ c", "positional": ["new", "odd-name"],
                    "arguments": [
                        "type": "object", "additionalProperties": false,
                        "properties": [
                            "new": ["type": "string", "description": "*/"], "odd-name": ["enum": ["a\"b", 1, nil]],
                            "it's": ["const": "`"],
                        ],
                    ],
                ]
            ],
        ])
        expectFine(try complaints("void host.demo.delete('x', 'a\"b', { \"it's\": '`' });", [family]))
        #expect(try complaints("evil;", [family]).contains("Cannot find name 'evil'"))
    }
}

private func expectFine(_ complaints: String) { #expect(complaints == "") }

/// What tsc says, run in a folder.
func compile(_ folder: URL, _ arguments: String...) throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/tsc")
    process.arguments = arguments
    process.currentDirectoryURL = folder
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? "" : text + "tsc ended with \(process.terminationStatus)"
}
