import ApsuleKit
import Foundation
import HostCore

/// What a family's manifest promises of its answers.
struct TestContract: Sendable {
    private let descriptor: Descriptor

    init(_ family: String) throws {
        let repository = (0..<4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let manifest = repository.appending(path: "Manifests/\(family).json")
        descriptor = try Descriptor(parsing: [UInt8](Data(contentsOf: manifest)), file: manifest.lastPathComponent)
    }

    /// Passes an answer on.
    ///
    /// - Throws: the answer's error; `test.contract` for a value or an error that the manifest does not declare.
    func check(_ name: String, _ part: String, _ body: () async throws -> Message) async throws -> Message {
        guard let operation = descriptor.operation(name) else { return try await body() }
        do {
            let message = try await body()
            let schema = part == "final" ? operation.final : operation.result
            try check(message.json, schema, "\(operation.fullName): its \(part)")
            return message
        } catch let error as HostError where !isDeclared(error.code, operation) {
            throw HostError("test.contract", "\(operation.fullName) does not declare \(error.code): \(error.message)")
        }
    }

    func check(_ name: String, event: String, _ payload: Message) throws {
        guard let operation = descriptor.operation(name) else { return }
        guard let declared = operation.events.first(where: { $0.name == event }) else {
            throw HostError("test.contract", "\(operation.fullName) does not declare the event \(event)")
        }
        try check(payload.json, declared.schema, "\(operation.fullName): its event \(event)")
    }

    private func check(_ value: JSON, _ schema: JSON?, _ what: String) throws {
        guard let schema, let mismatch = try Schema(schema).mismatch(in: value) else { return }
        throw HostError("test.contract", "\(what) is not as declared: \(mismatch)")
    }

    private func isDeclared(_ code: String, _ operation: OperationDescriptor) -> Bool {
        ["host.", "permission.", "test."].contains { code.hasPrefix($0) } || code == "\(operation.family).unavailable"
            || operation.errors.contains(code)
    }
}
