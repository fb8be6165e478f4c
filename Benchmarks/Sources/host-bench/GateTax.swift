import ApsuleKit
import Glibc
import HostCore
import Synchronization

/// What schema, permission and audit add to an inline operation: the way through the dispatcher minus the provider alone.
struct GateTax {
    private let dispatcher: Dispatcher
    private let provider = Echo()
    private let operation: OperationDescriptor
    private static let batch = 10_000

    /// The operation needs a permission, which a real authority gives and writes down in its audit.
    init(state: String) throws(HostError) {
        let descriptor = try Descriptor(Self.descriptor)
        let registry = Registry(folders: [], hostFamilies: [descriptor])
        let provider = provider
        let catalog = Catalog(registry: registry) { _, _ in provider }
        let catalogue = PermissionCatalogue(descriptors: [descriptor])
        let authority = PermissionAuthority(
            subject: .init(identity: .commandLine, name: "bench", declarations: nil), catalogue: catalogue,
            store: try GrantStore(state: state), audit: try AuditLog(state: state), policy: Policy(),
            allowed: ["storage"], prompter: NoPrompter())
        dispatcher = Dispatcher(
            catalog: catalog, gate: Gate(authority: authority),
            files: try ProjectFiles(data: state + "/data", identity: .commandLine), console: Silence())
        guard let operation = descriptor.operation("get") else { throw HostError("bench.failed", "no operation") }
        self.operation = operation
        // The first call opens the provider, and asks for the permission.
        let sink = Sink()
        dispatcher.start("bench.get", Self.arguments, timeoutMs: nil, observer: sink)
        while sink.count == 0 { usleep(100) }
        guard case .success? = dispatcher.answerInline(operation, Self.arguments) else {
            throw HostError("bench.failed", "The operation is not answered inline.")
        }
    }

    /// Nanoseconds a call with and without, each sample a batch, the two in turn.
    func measure(samples: Int) -> JSON {
        var with: [JSON] = []
        var without: [JSON] = []
        for _ in 0..<samples {
            with.append(sample { _ = dispatcher.answerInline(operation, Self.arguments) })
            without.append(sample { provider.invoke(0, call: 1, arguments: Self.arguments, sink: Sink()) })
        }
        dispatcher.close()
        return ["with": .array(with), "without": .array(without)]
    }

    private func sample(_ body: () -> Void) -> JSON {
        let start = Main.now
        for _ in 0..<Self.batch { body() }
        return .double(Double(Main.now - start) / Double(Self.batch))
    }

    private static let arguments = Payload(["key": "greeting", "limit": 10])
    private static let descriptor: JSON = [
        "apsule": 1, "family": "bench", "version": "1.0.0", "summary": "What the benchmark calls.",
        "operations": [
            "get": [
                "summary": "Answers a constant.", "inline": true, "permission": "storage",
                "arguments": [
                    "type": "object", "required": ["key"], "additionalProperties": false,
                    "properties": [
                        "key": ["type": "string", "maxLength": 100],
                        "limit": ["type": "integer", "minimum": 0, "maximum": 1_000],
                    ],
                ],
            ]
        ],
    ]
}

/// Answers at once with a constant.
private final class Echo: Provider {
    let operations = ["get"]
    private let answer = Payload(["value": "hello"])
    func invoke(_ operation: Int, call: UInt64, arguments: Payload, sink: any CallSink) { sink.reply(answer) }
    func cancel(_ call: UInt64) {}
    func resume(_ call: UInt64) {}
    func close() {}
}

/// Takes an answer, for a call through the dispatcher and for one without it.
private final class Sink: CallSink, CallObserver {
    private let answers = Mutex(0)
    let isStream = false
    var count: Int { answers.withLock { $0 } }

    func reply(_ result: Payload?) { answers.withLock { $0 += 1 } }
    func fail(_ error: HostError) { answers.withLock { $0 += 1 } }
    func answered(_ call: any RunningCall, _ result: Result<Payload, HostError>) { answers.withLock { $0 += 1 } }
    func eventsReady(_ call: any RunningCall) {}
    func event(_ name: String, _ payload: Payload?) -> Flow { .stop }
    func end(_ final: Payload?) {}
    func openPath(_ path: String, flags: Int32, mode: UInt32) -> Int32 { -EPERM }
    func allows(_ scope: String, _ value: String) -> Bool { false }
}

private final class Silence: ConsoleSink {
    func write(_ level: LogLevel, source: String, _ text: String) {}
}
