public import ApsuleKit

extension Recording {
    /// Reads a recording.
    ///
    /// A last line that is torn, as a killed run leaves it, is left out with a warning.
    ///
    /// - Throws: `replay.invalid` with file, line and reason.
    public init(_ bytes: [UInt8], file: String) throws(HostError) {
        var reader = RecordingReader(file: file)
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let torn = lines.popLast().map(Array.init) ?? []
        for line in lines { try reader.take(Array(line)) }
        var warning: String?
        do throws(HostError) {
            if !torn.isEmpty || lines.isEmpty { try reader.take(torn) }
        } catch {
            guard !lines.isEmpty else { throw error }
            warning = "\(file) ends in the middle of line \(lines.count + 1), which is left out."
        }
        (calls, duration, self.warning) = (reader.calls, reader.duration, warning)
    }
}

/// Takes the lines of a recording one after another.
private struct RecordingReader {
    let file: String
    private var line = 0
    private(set) var calls: [Recording.Call] = []
    private(set) var duration: Int64 = 0
    private var positions: [Int64: Int] = [:]

    init(file: String) { self.file = file }

    mutating func take(_ bytes: [UInt8]) throws(HostError) {
        line += 1
        let json: JSON
        // A line holds the payload one level deeper than it was.
        do throws(JSON.Failure) { json = try JSON(parsing: bytes, maxDepth: JSON.defaultDepth + 2) } catch {
            throw invalid("is no JSON: \(error.message)")
        }
        if line == 1 { return try header(json) }
        guard let time = json["t"]?.intValue, time >= 0, let number = json["call"]?.intValue else {
            throw invalid("lacks the numbers t and call")
        }
        duration = max(duration, time)
        if let operation = json["operation"]?.stringValue {
            guard operation.contains("."), positions[number] == nil else {
                throw invalid("starts call \(number) again, or names no operation")
            }
            positions[number] = calls.count
            calls.append(
                Recording.Call(
                    key: CallKey(operation: operation, arguments: json["arguments"] ?? .null), number: number,
                    start: time))
            return
        }
        guard let position = positions[number] else { throw invalid("belongs to call \(number), which never started") }
        let after = max(0, time - calls[position].start)
        if json["cancel"] == true {
            // A stream that was cancelled plays to its recorded end all the same.
            if calls[position].entries.allSatisfy(\.isEvent) { calls[position].givenUp = after }
            return
        }
        calls[position].entries.append(Recording.Entry(after: after, what: try what(json)))
    }

    private func header(_ json: JSON) throws(HostError) {
        guard json["apsule"]?.stringValue == "recording" else { throw invalid("is not the header of a recording") }
        guard json["version"]?.intValue == Recording.version else {
            throw invalid("is of version \(json["version"]?.text ?? "null"), this host reads \(Recording.version)")
        }
    }

    private func what(_ json: JSON) throws(HostError) -> Recording.What {
        if let name = json["event"]?.stringValue { return .event(name, try payload(json, "value")) }
        if json["reply"] != nil { return .reply(try payload(json, "reply")) }
        if json["end"] != nil { return .end(try payload(json, "end")) }
        if let error = json["fail"] { return .fail(HostError(json: error, fallback: "host.failed")) }
        throw invalid("says neither operation, reply, event, end, fail nor cancel")
    }

    private func payload(_ json: JSON, _ key: String) throws(HostError) -> Payload? {
        if json["redacted"] == true { return nil }
        var blobs: [Blob] = []
        for blob in (json["blobs"] ?? []).arrayValue ?? [.null] {
            guard let bytes = blob.stringValue.flatMap({ Base64.decode($0) }) else {
                throw invalid("holds binary data that is no Base64")
            }
            blobs.append(Blob(bytes))
        }
        let value = json[key] ?? .null
        guard Redaction.blobs(value).allSatisfy(blobs.indices.contains) else {
            throw invalid("names binary data that it does not hold")
        }
        return Payload(value, blobs: blobs)
    }

    private func invalid(_ what: String) -> HostError {
        HostError(
            "replay.invalid", "\(file), line \(line) \(what).",
            details: ["path": .string(file), "line": .int(Int64(line)), "reason": .string(what)])
    }
}
