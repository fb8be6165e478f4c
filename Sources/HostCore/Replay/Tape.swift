public import ApsuleKit

/// Whether what families do is written down, or read instead of done.
public enum Tape: Sendable {
    case none
    case record(CallRecorder)
    /// `speed`: how many times faster than recorded; infinity is at once.
    case replay(Recording, speed: Double)

    /// - Parameters:
    ///   - file: the file, open; nil for none.
    ///   - start: `{"isReplay", "path", "speed"}`.
    ///   - report: hears why a recording ends early.
    /// - Throws: `replay.invalid`, `host.file_error`, `usage.invalid`.
    public init(
        _ file: OwnedFile?, _ start: JSON, _ report: @escaping @Sendable (HostError) -> Void
    ) throws(HostError) {
        guard let file else {
            self = .none
            return
        }
        if start["isReplay"] == true {
            let recording = try RecordingFile.read(file, start["path"]?.stringValue ?? "")
            self = .replay(recording, speed: try Self.factor(start["speed"]?.stringValue ?? "1"))
        } else {
            self = .record(CallRecorder(file, report: report))
        }
    }

    /// `10`, `0.5`, `max`: how many times faster.
    public static func factor(_ text: String) throws(HostError) -> Double {
        if text == "max" { return .infinity }
        guard let number = Double(text), number.isFinite, number > 0 else {
            throw HostError("usage.invalid", "--speed takes a number above 0, or max.")
        }
        return number
    }

    /// The families that are played; equal calls of theirs are told apart by their order, which must be the script's.
    public var played: Set<String> { if case .replay(let recording, _) = self { recording.families } else { [] } }

    /// The provider of a recorded family; nil for one that is live.
    func player(_ descriptor: Descriptor) -> (any Provider)? {
        guard case .replay(let recording, let speed) = self, recording.families.contains(descriptor.family) else {
            return nil
        }
        return ReplayProvider(descriptor, recording, speed: speed)
    }

    /// The provider, with a recorder before it where there is one.
    func recorded(_ provider: any Provider, _ descriptor: Descriptor) -> any Provider {
        guard case .record(let recorder) = self else { return provider }
        return RecordingProvider(provider, descriptor, recorder: recorder)
    }
}
