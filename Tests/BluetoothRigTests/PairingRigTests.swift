import ApsuleKit
import Foundation
import TestBus
import TestHost
import Testing

extension RigTests {
    @Suite struct Pairing {
        let bluetooth: Bluetooth
        var host: TestHost { bluetooth.host }
        init() throws { bluetooth = try Bluetooth() }

        @Test func anEncryptedCharacteristicIsReadOncePaired() async throws {
            let id = try await bluetooth.connect(Rig.heart)
            let pairing = host.stream("pair", ["deviceId": id])
            #expect(try await pairing.end().json == ["paired": true])
            #expect(try await host.call("read", ["deviceId": id, "characteristicId": Rig.own(3)]) == ["value": "Kg=="])
            #expect(try await host.stream("pair", ["deviceId": id]).end().json == ["paired": true])
            #expect(try await host.call("unpair", ["deviceId": id]) == ["paired": false])
            #expect(await bluetooth.code("unpair", ["deviceId": id]) == "bluetooth.not_paired_here")
        }

        @Test func aPersonComparesNumbers() async throws {
            let id = try await bluetooth.connect(Rig.sensor)
            let pairing = host.stream("pair", ["deviceId": id])
            let handle = try await pairing.answer().json
            let question = try await pairing.wait("confirm")
            #expect(question.json["passkey"]?.stringValue?.utf8.count == 6)
            let answer: JSON = ["pairingId": handle["pairingId"] ?? .null, "accept": true]
            #expect(try await host.call("confirmPairing", answer) == ["answered": true])
            #expect(try await host.call("confirmPairing", answer) == ["answered": false])
            #expect(try await pairing.end().json == ["paired": true])
            let encrypted: JSON = "6b1f0103-5a3c-4c2b-9e8d-0a1b2c3d4e5f"
            #expect(try await host.call("read", ["deviceId": id, "characteristicId": encrypted]) == ["value": "Kw=="])
            try await host.call("unpair", ["deviceId": id])
        }

        @Test func aPersonRefuses() async throws {
            let id = JSON.string(try await bluetooth.find(Rig.sensor))
            let pairing = host.stream("pair", ["deviceId": id])
            let handle = try await pairing.answer().json
            _ = try await pairing.wait("confirm")
            try await host.call("confirmPairing", ["pairingId": handle["pairingId"] ?? .null, "accept": false])
            let code = await failure { try await pairing.end() }?.code
            #expect(
                ["bluetooth.pairing_failed", "bluetooth.pairing_rejected", "bluetooth.pairing_cancelled"].contains(code)
            )
            #expect(try await isPaired(Rig.sensor) == false)
        }

        @Test func aQuestionThatNobodyAnswersRefuses() async throws {
            let id = JSON.string(try await bluetooth.find(Rig.sensor))
            let pairing = host.stream("pair", ["deviceId": id, "answerWithinMs": 1500])
            #expect(await failure { try await pairing.end() }?.code == "bluetooth.pairing_unanswered")
            #expect(try await isPaired(Rig.sensor) == false)
        }

        @Test func cancellingEndsThePairing() async throws {
            let id = JSON.string(try await bluetooth.find(Rig.sensor))
            let pairing = host.stream("pair", ["deviceId": id])
            _ = try await pairing.wait("confirm")
            pairing.cancel()
            #expect(await failure { try await pairing.end() }?.code == "host.cancelled")
            #expect(try await isPaired(Rig.sensor) == false)
            // The agent is gone, so that the next pairing can have its own.
            let again = host.stream("pair", ["deviceId": id])
            _ = try await again.wait("confirm")
            again.cancel()
            _ = try? await again.end()
        }

        @Test func aPairingOfAnotherProjectIsNotRemoved() async throws {
            let other = try Bluetooth()
            let mine = JSON.string(try await bluetooth.find(Rig.heart))
            let theirs = try await other.connect(Rig.heart)
            _ = try await other.host.stream("pair", ["deviceId": theirs]).end()
            #expect(await bluetooth.code("unpair", ["deviceId": mine]) == "bluetooth.not_paired_here")
            try await other.host.call("unpair", ["deviceId": theirs])
        }

        private func isPaired(_ name: String) async throws -> Bool? {
            try await bluetooth.scan(["name": .string(name)], until: [name]).first?["paired"]?.boolValue
        }
    }
}
