import ApsuleKit
import Foundation
import HostCore
import Testing

@Suite struct CompletionTests {
    let apsule: ApsuleTool
    init() throws { apsule = try ApsuleTool() }

    /// The candidates for a line whose last word is being typed.
    private func candidates(_ words: String...) throws -> [String] {
        let result = try apsule.run(["__complete", "--"] + words)
        #expect(result.status == 0 && result.err == "")
        return result.lines.map { String($0.prefix { $0 != "\t" }) }
    }

    @Test func commandsAndTheirOptions() throws {
        #expect(try candidates("per") == ["permissions"])
        #expect(try candidates("").contains("init"))
        #expect(try candidates("call", "--al") == ["--allow"])
        #expect(try candidates("call", "timer.sleep", "--allow", "blu") == ["bluetooth"])
        #expect(try candidates("call", "--allow=blu") == ["--allow=bluetooth"])
        #expect(try candidates("docs", "--output", "") == [":folder"])
        #expect(try candidates("permissions", "") == ["list", "grant", "revoke", "explain"])
        #expect(try candidates("completion", "z") == ["zsh"])
        #expect(try candidates("nonsense", "") == [])
    }

    @Test func familiesOperationsAndArguments() throws {
        #expect(try candidates("call", "timer.") == ["timer.sleep"])
        #expect(try candidates("call", "timer.sleep", "") == ["ms:="])
        #expect(try candidates("call", "--timeout", "5s", "runtime.supports", "o") == ["operation="])
        #expect(try candidates("call", "crypto.sha256", "enc") == ["encoding="])
        #expect(
            try candidates("call", "crypto.sha256", "text=a", "encoding=b") == ["encoding=base64", "encoding=bytes"])
        #expect(try candidates("call", "crypto.base64Encode", "url:=") == ["url:=true", "url:=false"])
        #expect(try candidates("docs", "tim") == ["timer"])
        #expect(try candidates("help", "host.time") == ["host.timeout"])
        #expect(try candidates("help", "typ") == ["types"])
    }

    @Test func permissionsProjectsAndQueries() throws {
        #expect(try candidates("permissions", "grant", "aps") == ["apsule.cli", ":folder"])
        #expect(try candidates("permissions", "grant", "apsule.cli", "stor") == ["storage"])
        #expect(try candidates("permissions", "explain", "timer.s") == ["timer.sleep"])
        #expect(try candidates("permissions", "list", "") == [])
        #expect(try candidates("discover", "family:ti") == ["family:timer"])
        #expect(try candidates("discover", "str") == ["stream:"])
        #expect(try candidates("types", "") == [":folder"])
        // Completing leaves nothing behind.
        #expect(try FileManager.default.contentsOfDirectory(atPath: apsule.home.path) == [])
    }

    @Test func bashReplacesOnlyWhatFollowsAColonOrEqualsSign() throws {
        #expect(try bash("apsule per") == ["permissions"])
        #expect(try bash("apsule call timer.sl") == ["timer.sleep"])
        #expect(try bash("apsule call crypto.sha256 encoding=b") == ["base64", "bytes"])
        #expect(try bash("apsule call crypto.base64Encode url:=t") == ["true"])
        #expect(try bash("apsule call timer.sleep ") == ["ms:="])
        #expect(try bash("apsule discover family:ti") == ["timer"])
        try apsule.write("Folder One/x", "")
        #expect(try bash("apsule types Fol") == ["Folder One"])
        #expect(try bash("apsule init nothing-here") == [])
    }

    /// What bash's COMPREPLY is for a line.
    private func bash(_ line: String) throws -> [String] {
        let script = """
            \(try apsule.run("completion", "bash").out)
            COMP_LINE=$1 COMP_POINT=${#1}
            _apsule "$2" 2> /dev/null
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments = ["-c", script, "bash", line, ApsuleTool.binary.path]
        process.currentDirectoryURL = apsule.home
        process.environment = apsule.environment
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").map(String.init)
    }
}
