import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletPush
import MartletPushSimulator
import MartletTesting
import Testing

@testable import NotificationsService

@Suite struct PushCredentialsTests {
    @Test func `an instance notices what another one stores`() async throws {
        try await NotificationsApp.run { app in
            let space = try await app.space.id
            let credentials = app.service.devices.credentials
            let other = PushCredentials(store: credentials.store)
            let third = PushCredentials(store: credentials.store)
            for each in [other, third, credentials] { #expect(try await each.current(space).apns == nil) }
            let key = SimulatedKey()
            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(key))
            _ = try await app.master(
                "PUT", "/notifications/credentials/webpush", #"{"subject":"mailto:push@example.com"}"#)
            // Before an instance answers that there is no key for web push, it reads again.
            #expect(try await third.webPush(of: space) != nil)
            try await eventually { try await credentials.current(space).apns?.key(for: .sandbox).keyID == key.keyID }
            // The other instance gets no notifications, so it notices the change only when it checks from time to time.
            try await eventually { try await other.current(space).webPush != nil }
            let before = try await credentials.current(space).webPush

            // A changed key; the unchanged one stays the same object, with its tokens.
            let next = SimulatedKey()
            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(next))
            try await eventually {
                try await credentials.current(space).apns?.key(for: .production).keyID == next.keyID
            }
            let after = try await credentials.current(space).webPush
            #expect(after === before && before != nil)
            _ = try await app.master("DELETE", "/notifications/credentials/webpush")
            try await eventually { try await credentials.current(space).webPush == nil }
            #expect(try await credentials.current(space).apns != nil)
        }
    }

    @Test func `a held credential is held on all instances until it is replaced`() async throws {
        try await NotificationsApp.run { app in
            let space = try await app.space.id
            let credentials = app.service.devices.credentials
            let other = PushCredentials(store: credentials.store)
            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(SimulatedKey()))
            let version = try #require(try await credentials.store.current(space, known: nil).versions[.apns])
            try await other.markBroken(.apns, in: space, version: version, reason: "InvalidProviderToken")
            try await eventually { try await credentials.current(space).isBroken(.apns) }
            let held = try await credentials.current(space)
            #expect(held.broken[.apns] == "InvalidProviderToken" && !held.canSend(by: .apns))
            let shown = try await app.master("GET", "/notifications/credentials/apns")
            #expect(shown["broken.reason"] == "\"InvalidProviderToken\"" && shown["broken.since"] != nil, "\(shown)")

            _ = try await app.master("PUT", "/notifications/credentials/apns", NotificationsApp.json(SimulatedKey()))
            try await eventually { try await credentials.current(space).canSend(by: .apns) }
            // Answers for the previous credential say nothing about this one.
            try await other.markBroken(.apns, in: space, version: version, reason: "InvalidProviderToken")
            #expect(try await app.master("GET", "/notifications/credentials/apns")["broken"] == "null")
            try await other.markBroken(.apns, in: space, version: nil, reason: String(repeating: "x", count: 1_000))
            #expect(try await app.master("GET", "/notifications/credentials/apns")["broken.reason"]?.utf8.count == 202)
            try await credentials.markGood(.apns, in: space)
            #expect(try await app.master("GET", "/notifications/credentials/apns")["broken"] == "null")
        }
    }

    @Test func `each bundle id has its own devices`() throws {
        let key = SimulatedKey()
        let signing = try APNsKey(keyID: key.keyID, teamID: key.teamID, privateKey: Secret(key.pem))
        let credential = APNsCredential(production: signing, sandbox: signing, bundleIDs: ["a.b", "a.b.watch"])
        func bundle(_ named: String?) -> String? {
            credential.bundleID(
                of: Device(id: UUID(), space: 1, platform: .ios, service: .apns, token: "00", bundleID: named))
        }
        #expect(bundle(nil) == "a.b" && bundle("a.b.watch") == "a.b.watch" && bundle("c.d") == nil)
    }
}
