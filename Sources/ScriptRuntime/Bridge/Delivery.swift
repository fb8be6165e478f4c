internal import ApsuleKit
internal import HostCore

/// What is on its way to the script: one text for all that was answered in a turn of the loop.
struct Delivery {
    /// What an item is, as the prelude numbers it.
    ///
    /// From `firstEvent` on: the event's number.
    enum Code {
        static let answered = 0
        static let refused = 1
        static let opened = 2
        static let ended = 3
        static let broken = 4
        static let firstEvent = 8
    }

    struct Item {
        var slot: Int
        var code: Int
        var payload: Payload
        /// How an event's JSON begins, in place of its opening brace.
        var start: [UInt8]?
    }

    private(set) var items: [Item] = []
    private(set) var size = 0
    private static let maximumSize = 1 << 20

    var isEmpty: Bool { items.isEmpty }
    var isFull: Bool { size >= Self.maximumSize }

    mutating func append(_ item: Item) {
        items.append(item)
        size += item.payload.json.count + 16
    }

    mutating func clear() {
        items.removeAll(keepingCapacity: true)
        size = 0
    }

    /// `[slot,code,value,…]`.
    func write(into text: inout [UInt8]) {
        text.removeAll(keepingCapacity: true)
        text.append(UInt8(ascii: "["))
        for item in items {
            if text.count > 1 { text.append(UInt8(ascii: ",")) }
            JSON.int(Int64(item.slot)).write(into: &text)
            text.append(UInt8(ascii: ","))
            JSON.int(Int64(item.code)).write(into: &text)
            text.append(UInt8(ascii: ","))
            if let start = item.start {
                text.append(contentsOf: start)
                // `{"type":"x",` and `}` would leave a comma behind.
                if item.payload.json[1] == UInt8(ascii: "}") { text.removeLast() }
                text.append(contentsOf: item.payload.json[1...])
            } else {
                text.append(contentsOf: item.payload.json)
            }
        }
        text.append(UInt8(ascii: "]"))
    }
}

extension Payload {
    /// `{"reason", "final"}`, what a stream's end tells the script.
    init(end final: Payload?, reason: String) {
        var json = Array("{\"reason\":".utf8)
        JSON.string(reason).write(into: &json)
        if let final {
            json.append(contentsOf: ",\"final\":".utf8)
            json.append(contentsOf: final.json)
        }
        json.append(UInt8(ascii: "}"))
        self.init(json: json, blobs: final?.blobs ?? [])
    }
}
