internal import ApsuleKit
internal import CJavaScriptCore
internal import HostCore

/// What a status says about an inline answer, as the prelude numbers it.
private enum Status {
    static let ok: Int32 = 0, careful: Int32 = 1, failed: Int32 = 2, elsewhere: Int32 = 3
}

/// From the script to the port.
extension Engine {
    /// The call that the shared fields describe, with its arguments as JSON text.
    func startCall(_ text: JSValueRef?, blobs: JSValueRef?) {
        watchdog.cross()
        JSLock(context)
        let payload = payload(text, blobs)
        JSUnlock(context)
        let operation = operations[Int(shared[.operation])]
        let timeout = shared[.timeout]
        let slot = CallSlot(Int(shared[.slot]), operation, inbox)
        slot.stream.flow = Int(shared[.flow])
        while slots.count <= slot.index { slots.append(nil) }
        slots[slot.index] = slot
        let call = port.start(
            operation.descriptor.fullName, payload, timeoutMs: timeout < 0 ? nil : Int(timeout), observer: slot)
        slot.stream.call = call
    }

    /// Answers an inline operation at once, or says in the shared status what else to do.
    func answerCall(_ text: JSValueRef?, blobs: JSValueRef?) -> JSValueRef? {
        watchdog.cross()
        JSLock(context)
        defer { JSUnlock(context) }
        let operation = operations[Int(shared[.operation])]
        switch port.answerInline(operation.descriptor, payload(text, blobs)) {
        case nil:
            shared[.status] = Status.elsewhere
            return nil
        case .failure(let error):
            shared[.status] = Status.failed
            return pair(Payload(error.json))
        case .success(let result):
            if let value = plain(result) {
                shared[.status] = Status.ok
                return value
            }
            shared[.status] = Status.careful
            return pair(result)
        }
    }

    /// The value of a result that needs no care, or of one that is nothing but bytes.
    private func plain(_ result: Payload) -> JSValueRef? {
        if result.blobs.isEmpty { return PayloadScan(result.json).needsCare ? nil : parsed(result.json) }
        guard result.blobs.count == 1, result.json == Self.onlyBlob else { return nil }
        return BlobTransfer.array(context, result.blobs[0])
    }

    private static let onlyBlob = Array("{\"$blob\":0}".utf8)

    func payload(_ text: JSValueRef?, _ blobs: JSValueRef?) -> Payload {
        guard let string = JSValueToStringCopy(context, text, nil) else { return .emptyObject }
        defer { JSStringRelease(string) }
        return Payload(json: scratch.bytes(of: string), blobs: blobs.map(BlobTransfer.copies(context)) ?? [])
    }

    private func parsed(_ json: [UInt8]) -> JSValueRef? {
        guard let string = scratch.string(of: json) else { return nil }
        defer { JSStringRelease(string) }
        return JSValueMakeFromJSONString(context, string)
    }

    /// `[text, blobs]`, for the prelude to decode.
    private func pair(_ payload: Payload) -> JSValueRef? {
        let blobs = BlobTransfer.arrays(context, payload.blobs)
        let parts = [text(payload.json), blobs]
        return parts.withUnsafeBufferPointer { JSObjectMakeArray(context, 2, $0.baseAddress, nil) }
    }

    func text(_ bytes: [UInt8]) -> JSValueRef? {
        guard let string = scratch.string(of: bytes) else { return nil }
        defer { JSStringRelease(string) }
        return JSValueMakeString(context, string)
    }

    func cancelCall(_ index: Int) {
        guard slots.indices.contains(index), let slot = slots[index] else { return }
        slot.stream.flow = CallSlot.discarding
        slot.stream.call?.cancel()
        if slot.stream.isOpen { slot.announce() }
    }

    func setFlow(_ index: Int, _ flow: Int) {
        guard slots.indices.contains(index), let slot = slots[index] else { return }
        // A stream that was cancelled lets its events go, whatever is asked meanwhile.
        if slot.stream.flow != CallSlot.discarding { slot.stream.flow = flow }
        if slot.stream.isOpen { slot.announce() }
    }
}

/// From the port to the script.
extension Engine {
    func take(_ slot: CallSlot, _ result: Result<Payload, HostError>) {
        switch result {
        case .success(let payload):
            guard slot.operation.descriptor.kind == .stream else {
                forget(slot)
                return deliver(slot, Delivery.Code.answered, payload)
            }
            slot.stream.isOpen = true
            deliver(slot, Delivery.Code.opened, payload)
            // In a turn of its own, so that the script has the handle when the first event comes.
            flush()
            pump(slot)
        case .failure(let error):
            forget(slot)
            deliver(slot, Delivery.Code.refused, Payload(error.json))
        }
    }

    /// Takes from a stream what the script wants now.
    func pump(_ slot: CallSlot) {
        guard slot.stream.isOpen, !slot.stream.isOver, let call = slot.stream.call else { return }
        // A stream that never runs dry must not keep the others waiting.
        var budget = 256
        while slot.stream.flow != 0 {
            guard budget > 0 else { return slot.announce() }
            budget -= 1
            guard let item = call.next() else { return }
            switch item {
            case .event(let name, let payload):
                if slot.stream.flow == CallSlot.discarding { continue }
                if slot.stream.flow > 0 { slot.stream.flow -= 1 }
                deliver(slot, event: name, payload)
            case .end(let final, let reason):
                forget(slot)
                return deliver(slot, Delivery.Code.ended, Payload(end: final, reason: reason))
            case .failed(let error):
                forget(slot)
                return deliver(slot, Delivery.Code.broken, Payload(error.json))
            }
        }
    }

    private func forget(_ slot: CallSlot) {
        slot.stream.isOver = true
        slot.stream.call = nil
        if slots[slot.index] === slot { slots[slot.index] = nil }
    }

    private func deliver(_ slot: CallSlot, event name: String, _ payload: Payload) {
        guard let number = slot.operation.eventNames.firstIndex(of: name) else { return }
        let isObject =
            payload.json.count > 1 && payload.json[0] == UInt8(ascii: "{")
            && (payload.json[1] == UInt8(ascii: "\"") || payload.json[1] == UInt8(ascii: "}"))
        deliver(
            slot, Delivery.Code.firstEvent + number, payload, start: isObject ? slot.operation.eventStarts[number] : nil
        )
    }

    private func deliver(_ slot: CallSlot, _ code: Int, _ payload: Payload, start: [UInt8]? = nil) {
        guard !isOver else { return }
        if payload.blobs.isEmpty, payload.json.count <= PayloadScan.limit {
            let scan = PayloadScan(payload.json)
            if scan.isContained, !scan.needsCare {
                delivery.append(.init(slot: slot.index, code: code, payload: payload, start: start))
                if delivery.isFull { flush() }
                return
            }
        }
        flush()
        deliverAlone(slot.index, code, payload)
    }

    /// An item that the prelude has to decode.
    private func deliverAlone(_ slot: Int, _ code: Int, _ payload: Payload) {
        JSLock(context)
        let text = text(payload.json)
        let blobs = BlobTransfer.arrays(context, payload.blobs)
        JSUnlock(context)
        call(
            prelude.deliverOne, JSValueMakeNumber(context, Double(slot)), JSValueMakeNumber(context, Double(code)),
            text,
            blobs)
    }

    /// Gives the script what has gathered, in one crossing.
    func flush() {
        guard !delivery.isEmpty else { return }
        delivery.write(into: &outgoing)
        JSLock(context)
        let items = parsed(outgoing)
        JSUnlock(context)
        if outgoing.count > 1 << 20 { outgoing = [] }
        guard let items else {
            // One of them was no JSON: each crosses alone, so that only its own call fails.
            let parts = delivery.items
            delivery.clear()
            for part in parts where !isOver { deliverAlone(part.slot, part.code, part.payload) }
            return
        }
        delivery.clear()
        JSValueProtect(context, items)
        defer { JSValueUnprotect(context, items) }
        var next = 0.0
        repeat {
            guard let result = call(prelude.deliver, items, JSValueMakeNumber(context, next)) else { return }
            next = JSValueToNumber(context, result, nil)
        } while next > 0 && !isOver
    }
}
