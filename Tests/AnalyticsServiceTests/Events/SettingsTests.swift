import Foundation
import HTTPTypes
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import Testing

@testable import AnalyticsEvents
@testable import AnalyticsService

@Suite struct SettingsTests {
    @Test func `settings can be read and changed individually, with the necessary right`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(
                try await app.master("GET", "/analytics/settings").text
                    == #"{"isCollecting":true,"privacy":"standard","retentionDays":395,"timeZone":"UTC"}"#)
            let changed = try await app.master(
                "PUT", "/analytics/settings", #"{"retentionDays":90,"timeZone":"Europe/Zurich"}"#)
            #expect(
                changed.status == 200
                    && changed.text
                        == #"{"isCollecting":true,"privacy":"standard","retentionDays":90,"timeZone":"Europe/Zurich"}"#
            )
            let reader = StaffRights([app.appID: [.analytics: [.read]]])
            #expect(try await app.staff("GET", "/analytics/settings", rights: reader).text == changed.text)
            #expect(try await app.staff("PUT", "/analytics/settings", "{}", rights: reader).isProblem(.forbidden))
            #expect(try await app.staff("GET", "/analytics/settings").isProblem(.forbidden))
            #expect(try await app.client("GET", "/analytics/settings").isProblem(.forbidden))
            #expect(try await app.ingest("PUT", "/analytics/settings", "{}").isProblem(.forbidden))
        }
    }

    @Test func `concurrent changes of different settings are all applied`() async throws {
        try await AnalyticsApp.run { app async throws in
            let (space, other) = (try await app.space, SettingsStore(postgres: app.postgres))
            _ = try await other.settings(of: space)
            #expect(try await app.master("PUT", "/analytics/settings", #"{"retentionDays":30}"#).status == 200)
            let settings = try await other.change(SettingsChange(privacy: .strict), of: space, by: .service)
            #expect(settings.retentionDays == 30 && settings.privacy == .strict)
            #expect(
                try await app.master("PUT", "/analytics/settings", #"{"isCollecting":false}"#)["privacy"]
                    == #""strict""#)
        }
    }

    static let wrong = [
        (#"{"retentionDays":0}"#, "retentionDays"), (#"{"retentionDays":3651}"#, "retentionDays"),
        (#"{"privacy":"none"}"#, "privacy"),
        (#"{"isCollecting":1}"#, "isCollecting"), (#"{"timeZone":"Europe/Atlantis"}"#, "timeZone"),
        (#"{"timeZone":"<+02>-2"}"#, "timeZone"),
        (#"{"timezone":"UTC"}"#, "timezone"),
    ]

    @Test(arguments: wrong)
    func `invalid settings are refused by field, and nothing changes`(_ body: String, _ field: String)
        async throws
    {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.master("PUT", "/analytics/settings", body).isProblem(.invalidBody, field: field))
            #expect(try await app.count("analytics.settings") == 0)
        }
    }

    @Test func `an app that does not collect events gets the usual answers, and nothing is stored`() async throws {
        try await AnalyticsApp.run { app async throws in
            #expect(try await app.master("PUT", "/analytics/settings", #"{"isCollecting":false}"#).status == 200)
            #expect(try await app.batch(track("a"))["accepted"] == "1")
            #expect(try await app.client("POST", "/thesis/events", #"{"type":"x"}"#).status == 201)
            #expect(try await app.count("analytics.events") == 0)
            #expect(try await app.count("analytics.terms") == 0)
            #expect(try await app.ingest("GET", "/segment/v1/settings/mi_live_key")["integrations"] == "{}")

            // Another instance, which has cached this, stores events as soon as the app collects them again.
            let (space, other) = (try await app.space, SettingsStore(postgres: app.postgres))
            #expect(try await !other.settings(of: space).isCollecting)
            #expect(try await app.master("PUT", "/analytics/settings", #"{"isCollecting":true}"#).status == 200)
            #expect(try await other.settings(of: space).isCollecting)
        }
    }
}
