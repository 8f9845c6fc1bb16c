import Foundation
import Hummingbird
import HummingbirdTesting
import MartletAPI
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import AnalyticsCrashes
@testable import AnalyticsService
@testable import ConfigService

/// Config and the analytics service that it calls, each with its own database.
struct TwoServices {
    let config: ConfigApp
    let analytics: AnalyticsPart

    /// Analytics, called as by the gateway.
    struct AnalyticsPart: ServiceApp {
        let gateway: ServiceClient
        let service: AnalyticsService
        let appID = "app1"
        let environment = AppEnvironment.live

        /// Sends messages of Segment's API with an ingest key.
        func batch(_ messages: [String]) async throws {
            let body = #"{"batch":[\#(messages.joined(separator: ","))]}"#
            let answer = try await gateway.acting(as: principal(.ingest)).send("POST", "/segment/v1/batch", body)
            try #require(answer["accepted"] == String(messages.count), "\(answer)")
        }

        func sums(_ question: ExperimentQuestion) async throws -> ExperimentSums {
            let body = String(decoding: try JSONEncoder().encode(question), as: UTF8.self)
            let answer = try await gateway.acting(as: .service("config")).send(
                "POST", "/internal/analytics/experiments", body)
            guard answer.status == 200 else { throw ServiceCalls.Failure.status(answer.status, service: "analytics") }
            return try JSONDecoder().decode(ExperimentSums.self, from: Data(answer.text.utf8))
        }
    }

    static func run(_ body: @Sendable (TwoServices) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "martlet-conversions-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        var options = AnalyticsOptions()
        options.crashes.spoolDirectory = folder.appending(path: "spool").path
        try await MigratedDatabase.with { database in
            let service = AnalyticsService(
                postgres: database.client(for: "analytics"), files: LocalFiles(directory: folder.path),
                options: options, logger: .silent)
            let application = Application(
                router: ServiceProcess.makeRouter(service, signer: ServiceClient.signer), services: service.background,
                logger: .silent)
            try await application.test(.router) { client in
                try await eventually("the service is ready") { await service.isReady() }
                let analytics = AnalyticsPart(gateway: ServiceClient(client, principal: nil), service: service)
                try await ConfigApp.run(conversions: Conversions { try await analytics.sums($0) }) { config in
                    try await body(TwoServices(config: config, analytics: analytics))
                }
            }
        }
    }

    /// Starts an experiment on the flag `title`.
    func start(_ experiment: String) async throws {
        try #require(
            try await config.publish(.flags, "default", #"{"flags":{"title":{"type":"string","default":"live"}}}"#)
                .status == 200)
        let stored = try await config.master(
            "PUT", "/config/experiment/checkout", experiment, headers: ["if-none-match": "*"])
        try #require(stored.status == 201, "\(stored)")
        let started = try await config.master("POST", "/config/experiment/checkout/start")
        try #require(started.status == 200, "\(started)")
    }

    /// Exposes a device, or the user signed in there, and waits until the exposure is recorded.
    func expose(device: String, user: String? = nil) async throws -> String {
        let answer = try await config.client(
            "POST", "/flags/evaluate", "{}", user: user, headers: ["x-device-id": device])
        await config.service.experiments.log.flush()
        return try #require(answer["experiments.checkout"]).filter { $0 != "\"" }
    }

    /// The stored sums of a metric, by variation.
    func storedSums(_ metric: String) async throws -> JSONValue {
        let rows = try await config.postgres.query("SELECT content FROM config.observations WHERE metric = \(metric)")
        try #require(rows.count == 1)
        return try JSONValue(parsing: try rows[0].decode(0, as: String.self).utf8)
    }

    func results() async throws -> Answer { try await config.master("GET", "/config/experiment/checkout/results") }
}
