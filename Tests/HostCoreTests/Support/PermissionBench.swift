import ApsuleKit
import Foundation
import Glibc
import Synchronization

@testable import HostCore

/// Answers questions as a test says, and keeps them.
final class FakePrompter: Prompter {
    private let state = Mutex((answers: [PromptAnswer?](), asked: [PromptRequest]()))
    var asked: [PromptRequest] { state.withLock { $0.asked } }
    func answer(_ answers: PromptAnswer?...) { state.withLock { $0.answers += answers } }

    func ask(_ request: PromptRequest) -> PromptAnswer? {
        state.withLock { state in
            state.asked.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
    }
}

/// Permissions over real files in a folder of their own.
final class PermissionBench: Sendable {
    let folder: TemporaryFolder
    let prompter = FakePrompter()
    let reports = Kept<HostError>()
    var state: String { folder.path + "/state" }

    init() throws { folder = try TemporaryFolder() }

    static let catalogue: PermissionCatalogue = {
        let descriptor: JSON = [
            "apsule": 1, "family": "gadget", "version": "1.0.0", "summary": "use gadgets", "permission": "gadget",
            "operations": ["go": ["summary": "Goes."]],
        ]
        return PermissionCatalogue(descriptors: [try? Descriptor(descriptor)].compactMap { $0 })
    }()

    /// The permissions of a project that declares what `permissions` of an `app.json` say.
    func authority(
        _ permissions: JSON? = ["bluetooth": true], id: String = "com.example.app",
        origin: String = "folder:/a/app#1@2",
        allowed: Set<String> = [], policy: String? = nil
    ) throws -> PermissionAuthority {
        if let policy { try folder.write("config/policy.json", policy) }
        let manifest = try permissions.map { try Self.manifest($0, id: id) }
        return PermissionAuthority(
            subject: .init(
                identity: ProjectIdentity(id: id, origin: origin), name: "An app", declarations: manifest?.permissions),
            catalogue: Self.catalogue, store: try GrantStore(state: state),
            audit: try AuditLog(state: state, report: { [reports] in reports.append($0) }),
            policy: try Policy(configuration: folder.path + "/config"), allowed: allowed, prompter: prompter,
            report: { [reports] in reports.append($0) })
    }

    static func manifest(_ permissions: JSON, id: String = "com.example.app") throws -> Manifest {
        let json: JSON = [
            "apsule": 1, "id": .string(id), "name": "An app", "version": "1.0.0", "permissions": permissions,
        ]
        return try Manifest(parsing: json.bytes, file: "app.json", catalogue: catalogue)
    }

    /// The lines of the audit file.
    func audit(_ event: String? = nil) -> [JSON] {
        let text = (try? String(contentsOfFile: state + "/audit.jsonl", encoding: .utf8)) ?? ""
        let lines = text.split(separator: "\n").compactMap { try? JSON(parsing: String($0)) }
        return lines.filter { event == nil || $0["event"]?.stringValue == event }
    }
}

extension PermissionAuthority {
    /// Decides, and waits for the verdict.
    func verdict(
        _ permission: String = "bluetooth", operation: String = "bluetooth.scan", level: String? = nil,
        scopes: [String: [String]] = [:]
    ) async -> Verdict {
        let need = Need(permission: permission, level: level, scopes: scopes)
        return await verdict(Question(operation: operation, needs: [need]))
    }

    func verdict(_ question: Question) async -> Verdict {
        await withCheckedContinuation { continuation in decide(question) { continuation.resume(returning: $0) } }
    }
}

extension Verdict {
    var isAllowed: Bool { if case .allowed = self { true } else { false } }
    var isOnce: Bool { if case .allowed(once: true, _) = self { true } else { false } }
    var error: HostError? { if case .denied(let error) = self { error } else { nil } }
    var rule: String? { error?.details["rule"]?.stringValue }
}
