import ApsuleKit
import HostCore

/// `--record FILE`, or `--replay FILE` with `--speed N`.
///
/// The parent opens the file, since a worker may open nothing outside its project.
struct TapeOptions {
    static let options = [
        Command.Option("record", value: "FILE", "Writes calls, answers and events to FILE."),
        Command.Option("replay", value: "FILE", "Answers from a recording; families that are not in it stay live."),
        Command.Option("speed", value: "N", "Replays N times faster than recorded; max: at once."),
    ]

    /// The open file; nil where nothing is recorded or replayed.
    let file: OwnedFile?
    private let isReplay: Bool
    private let path: String
    private let speed: String

    init(_ options: Options) throws(HostError) {
        let (record, replay) = (options["record"], options["replay"])
        guard record == nil || replay == nil else {
            throw HostError("usage.invalid", "--record and --replay exclude each other.")
        }
        guard replay != nil || options["speed"] == nil else {
            throw HostError("usage.invalid", "--speed goes with --replay.")
        }
        (isReplay, path, speed) = (replay != nil, replay ?? record ?? "", options["speed"] ?? "1")
        _ = try Tape.factor(speed)
        file =
            if let record { try RecordingFile.create(record) } else if let replay {
                try RecordingFile.open(replay)
            } else {
                nil
            }
        guard isReplay, let file else { return }
        let recording = try RecordingFile.read(file, path)
        if let warning = recording.warning { Output.error(warning) }
        guard !options.isJSON else { return }
        let families = recording.families.sorted().joined(separator: ", ")
        Output.error("Replays \(families.isEmpty ? "nothing" : families) from \(path); other families are live.")
    }

    /// What the worker gets to know.
    var start: JSON { ["isReplay": .bool(isReplay), "path": .string(path), "speed": .string(speed)] }

    /// The tape in this process.
    func tape(_ report: @escaping @Sendable (HostError) -> Void) throws(HostError) -> Tape {
        try Tape(file, start, report)
    }
}
