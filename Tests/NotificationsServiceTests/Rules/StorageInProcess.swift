import Foundation
import Hummingbird
import MartletAPI
import MartletCore
import MartletHTTP
import MartletPushSimulator
import MartletTesting
import NIOCore
import ServiceTesting
import StorageService
import Synchronization
import Testing

/// The real storage service on a port of its own, with the test's database.
final class StorageInProcess: Sendable {
    let address: ServiceAddress
    private let client: ServiceClient
    private let task: Task<Void, any Error>

    private init(_ address: ServiceAddress, _ client: ServiceClient, _ task: Task<Void, any Error>) {
        self.address = address
        self.client = client
        self.task = task
    }

    static func with(_ database: MigratedDatabase, _ secret: Secret, _ body: (StorageInProcess) async throws -> Void)
        async throws
    {
        let port = try FreePort.find()
        let login = "user=martlet_storage password=\(database.server.password)"
        let url = "host=\(database.server.directory) port=\(database.server.port) dbname=\(database.name) \(login)"
        let settings = try await Settings(
            arguments: [],
            environment: [
                "MARTLET_DATABASE_URL": url, "MARTLET_INTERNAL_SECRET": secret.withValue { $0 },
                "MARTLET_SERVICES_CONFIG": "http://127.0.0.1:1",
            ])
        let storage = try StorageService(settings: settings, logger: .silent)
        let router = ServiceProcess.makeRouter(storage, signer: ServiceClient.signer)
        let (channels, channel) = AsyncStream.makeStream(of: (any Channel).self)
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
            services: storage.background,
            onServerRunning: { channel.yield($0) }, logger: .silent)
        let task = Task { try await application.run() }
        var iterator = channels.makeAsyncIterator()
        let listening = await iterator.next()
        try await eventually("storage is ready") { await storage.isReady() }
        let address = ServiceAddress(name: "storage", url: URL(string: "http://127.0.0.1:\(port)")!)
        let process = StorageInProcess(address, try await ServiceClient(storage), task)
        defer {
            // The same order as in `SimulatorServer.stop`.
            Task {
                await listening?.stopAccepting()
                try? await Task.sleep(for: .seconds(1))
                listening?.close(promise: nil)
                task.cancel()
            }
        }
        // A new app's live environment is closed to clients.
        let opened = try await process.write("PUT", "/rules/settings", #"{"access":"open"}"#)
        try #require(opened.status == 200, "\(opened)")
        try await body(process)
    }

    /// Writes as a signed-in user of the app, or as the app's own server if nil.
    func write(_ method: String, _ path: String, _ body: String? = nil, by user: String? = nil) async throws -> Answer {
        let principal = Principal(
            kind: user == nil ? .master : .client, appID: "app1", appNumber: 1, environment: .live, credentialID: "c1",
            userID: user)
        return try await client.acting(as: principal).send(method, path, body)
    }
}
