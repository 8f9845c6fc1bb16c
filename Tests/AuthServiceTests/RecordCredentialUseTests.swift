import AuthService
import Foundation
import MartletAPI
import MartletCore
import MartletTesting
import Testing

@Suite(.serialized) struct RecordCredentialUseTests {
    @Test func `the latest use is stored, and time only moves forward`() async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let used = try await auth.credentials.create(.client, environment: .live, label: "", of: app.id).record
            let unused = try await auth.credentials.create(.secret, environment: .live, label: "", of: app.id).record
            for (time, expected) in [
                ("2026-03-01", "2026-03-01"), ("2026-02-01", "2026-03-01"), ("2026-04-01", "2026-04-01"),
            ] {
                let body = #"{"used":{"\#(used.id)":"\#(time)T00:00:00Z","\#(UUID())":"2026-05-01T00:00:00Z"}}"#
                #expect(try await auth.gateway.post("/internal/credentials/used", body).status == 204)
                let records = try await auth.credentials.list(of: app.id)
                #expect(
                    records.first { $0.id == used.id }?.lastUsed
                        == (try Date("\(expected)T00:00:00Z", strategy: .iso8601)))
                #expect(records.first { $0.id == unused.id }?.lastUsed == nil)
            }
        }
    }

    @Test func `ids in lower case are accepted, and so is an empty report`() async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let id = try await auth.credentials.create(.client, environment: .live, label: "", of: app.id).record.id
            let body = #"{"used":{"\#(id.uuidString.lowercased())":"2026-03-01T00:00:00Z"}}"#
            #expect(try await auth.gateway.post("/internal/credentials/used", body).status == 204)
            #expect(try await auth.credentials.list(of: app.id).first?.lastUsed != nil)
            #expect(try await auth.gateway.post("/internal/credentials/used", #"{"used":{}}"#).status == 204)
        }
    }

    @Test(arguments: [
        (#"{"used":{"x":"2026-03-01T00:00:00Z"}}"#, ErrorCode.invalidBody), ("{}", .invalidBody),
        (#"{"used":5}"#, .invalidBody),
        (#"{"used":{"$ID":5}}"#, .invalidBody), (#"{"used":{"$ID":"yesterday"}}"#, .invalidBody), ("", .invalidJSON),
        (#"{"used":{"$ID":"2026-03-01T00:00:00Z","' OR 1=1 --":"2026-03-01T00:00:00Z"}}"#, .invalidBody),
    ]) func `an invalid report changes nothing`(_ template: String, _ code: ErrorCode) async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let id = try await auth.credentials.create(.client, environment: .live, label: "", of: app.id).record.id
            let answer = try await auth.gateway.post(
                "/internal/credentials/used", template.replacing("$ID", with: "\(id)"))
            #expect(answer.isProblem(code), "\(answer)")
            #expect(try await auth.credentials.list(of: app.id).allSatisfy { $0.lastUsed == nil })
        }
    }

    @Test(arguments: [Principal.Kind.client, .master, .ingest, .evaluation])
    func `only internal services may report`(_ kind: Principal.Kind) async throws {
        try await AuthApp.run { auth in
            let app = try await auth.apps.create(name: "Shop")
            let id = try await auth.credentials.create(.client, environment: .live, label: "", of: app.id).record.id
            let caller = auth.gateway.acting(
                as: Principal(kind: kind, appID: app.id, appNumber: 1, environment: .live, credentialID: "x"))
            let body = #"{"used":{"\#(id)":"2026-03-01T00:00:00Z"}}"#
            #expect(try await caller.post("/internal/credentials/used", body).isProblem(.forbidden))
            #expect(
                try await auth.gateway.acting(as: nil).post("/internal/credentials/used", body).isProblem(.unauthorized)
            )
            #expect(try await auth.credentials.list(of: app.id).allSatisfy { $0.lastUsed == nil })
        }
    }
}
