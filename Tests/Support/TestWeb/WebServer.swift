public import ApsuleKit
import Foundation
import Synchronization

/// The servers of `Tests/Rigs/http/server.py` in a process of their own, gone with this object.
public final class WebServer: Sendable {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private let buffer = Mutex([UInt8]())
    private let notes = Mutex([JSON]())
    private let ports: JSON

    public init() throws {
        let tests = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
        process.arguments = [tests.appending(path: "Rigs/http/server.py").path]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        var line: [UInt8] = []
        while true {
            let data = output.fileHandleForReading.availableData
            if data.isEmpty { throw HostError("test.no_server", "The server of the tests did not start.") }
            line += data
            if line.last == UInt8(ascii: "\n") { break }
        }
        ports = try JSON(parsing: line)
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            self?.take([UInt8](handle.availableData))
        }
    }

    deinit {
        output.fileHandleForReading.readabilityHandler = nil
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// `http://127.0.0.1:port`, or with another host that leads there.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(ports["http"]?.intValue ?? 0)\(path)"
    }

    /// As `url`, over TLS with the certificate `good`, `expired`, `otherHost` or `selfSigned`.
    public func secureURL(_ path: String, certificate: String = "good", host: String = "localhost") -> String {
        "https://\(host):\(ports["https"]?[certificate]?.intValue ?? 0)\(path)"
    }

    /// The tests' own certificate authority, as PEM.
    public var authority: JSON { ports["authority"] ?? .null }

    /// What arrived at it so far: `{method, path, headers}`, and `{ended}` of plans that stalled.
    public var requests: [JSON] { notes.withLock { $0 } }

    /// Waits until so many have arrived, and gives them; what is there after ten seconds, otherwise.
    public func requests(count: Int) async -> [JSON] {
        for _ in 0..<1000 where requests.count < count { try? await Task.sleep(for: .milliseconds(10)) }
        return requests
    }

    /// The path of bytes that the server sends as they are, and does else: `send`, `wait`, `reset`, `stall`.
    public static func play(_ steps: [Step]) -> String {
        let plan = JSON.array(steps.map(\.json))
        let text = Base64.encode(plan.bytes).replacingOccurrences(of: "+", with: "%2B")
        return "/play?plan=" + text
    }

    /// As `play`, with a plan for each of the requests to the path that follow each other.
    public static func rounds(_ plans: [[Step]]) -> String {
        let all = JSON.array(plans.map { .array($0.map(\.json)) })
        let text = Base64.encode(all.bytes).replacingOccurrences(of: "+", with: "%2B")
        return "/rounds?key=\(UInt32.random(in: .min ... .max))&plans=" + text
    }

    public enum Step: Sendable {
        case send(String)
        case wait(Int)
        case reset
        case stall

        fileprivate var json: JSON {
            switch self {
            case .send(let text): ["send", .string(Base64.encode(text.utf8))]
            case .wait(let milliseconds): ["wait", .int(Int64(milliseconds))]
            case .reset: ["reset"]
            case .stall: ["stall"]
            }
        }
    }

    private func take(_ bytes: [UInt8]) {
        let lines = buffer.withLock { buffer in
            buffer += bytes
            guard let end = buffer.lastIndex(of: UInt8(ascii: "\n")) else { return [[UInt8]]() }
            defer { buffer.removeSubrange(...end) }
            return buffer[..<end].split(separator: UInt8(ascii: "\n")).map(Array.init)
        }
        notes.withLock { $0 += lines.compactMap { try? JSON(parsing: $0) } }
    }
}
