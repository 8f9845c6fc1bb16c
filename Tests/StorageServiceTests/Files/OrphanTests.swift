import Foundation
import MartletCore
import MartletFiles
import MartletHTTP
import MartletPostgres
import MartletTesting
import NIOCore
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct OrphanTests {
    private static let hour: TimeInterval = 3_600

    private func collection(_ postgres: PostgresClient, _ settings: FileSettings) -> OrphanFileSweep {
        OrphanFileSweep(
            postgres: postgres, files: FileStore(postgres: postgres, spaces: Spaces(postgres: postgres)),
            settings: settings, logger: .silent)
    }

    @Test func `orphans are removed a day after the last reference, whatever their age, and used files stay`()
        async throws
    {
        let app = try await StorageApp()
        let schema = try app.space().schema
        let collection = collection(app.postgres, SharedFiles.settings)
        func collect(after hours: Double) async throws -> Int {
            try await collection.collect(schema: schema, at: Date().addingTimeInterval(hours * Self.hour))
        }
        func blobs() async throws -> Int {
            try await SharedFiles.settings.backend.list(schema, after: nil, limit: 100).blobs.count
        }
        for (path, text) in [("kept", "1"), ("replaced", "1"), ("replaced", "2"), ("deleted", "1"), ("late", "1")] {
            _ = try await app.client.send("PUT", "/upload/" + path, text)
        }
        _ = try await app.client.delete("/upload/deleted")
        let created = try await app.client.send(
            "POST", "/files/tus", bytes: [],
            headers: [
                "tus-resumable": "1.0.0", "upload-length": "9",
                "upload-metadata": "path \(Data("tus".utf8).base64EncodedString())",
            ])
        let location = "/files/" + (try #require(created.header("location")))
        let patched = try await app.client.send(
            "PATCH", location, "abc",
            headers: [
                "tus-resumable": "1.0.0", "upload-offset": "0", "content-type": "application/offset+octet-stream",
            ])
        #expect(patched.status == 204 && created.status == 201, "\(patched)")
        #expect(try await blobs() == 6)

        // The blob is too young at first, and recorded later.
        #expect(try await collect(after: 0) == 0)
        #expect(try await collect(after: 2) == 0)
        #expect(try await collect(after: 25.9) == 0)
        #expect(try await collect(after: 26.1) == 2)
        #expect(
            try await app.client.send("HEAD", location, bytes: nil, headers: ["tus-resumable": "1.0.0"]).status == 404,
            "expired")
        #expect(try await blobs() == 4)
        // A day old when its row is deleted; it is kept for a day from then on.
        _ = try await app.client.delete("/upload/late")
        #expect(try await collect(after: 27) == 0)
        #expect(try await blobs() == 4)
        #expect(try await collect(after: 50) == 1, "the bytes of the expired upload")
        #expect(try await collect(after: 51.1) == 1)
        #expect(try await blobs() == 2)
        #expect(try await app.client.get("/upload/kept").text == "1")
        #expect(try await app.client.get("/upload/replaced").text == "2")
    }

    @Test func `a file that is referenced again stays`() async throws {
        let app = try await StorageApp()
        let (schema, files, orphans) = (
            try app.space().schema, try app.space().own("_files"), try app.space().own("_orphans")
        )
        let collection = collection(app.postgres, SharedFiles.settings)
        _ = try await app.client.send("PUT", "/upload/f", "1")
        // As in a copy job, the bytes are written long before the row.
        try await app.superuser.execute("UPDATE \(files) SET blob = 'x' || blob")
        #expect(try await collection.collect(schema: schema, at: Date().addingTimeInterval(2 * Self.hour)) == 0)
        #expect(try await app.superuser.query("SELECT FROM \(orphans)").count == 1)
        try await app.superuser.execute("UPDATE \(files) SET blob = substr(blob, 2)")
        #expect(try await collection.collect(schema: schema, at: Date().addingTimeInterval(48 * Self.hour)) == 0)
        #expect(try await app.superuser.query("SELECT FROM \(orphans)").isEmpty)
        #expect(try await app.client.get("/upload/f").text == "1")
    }

    @Test
    func `a failing or unmigrated space does not affect others, and abandoned work is removed`()
        async throws
    {
        let database = try await MigratedDatabase.make()
        let postgres = database.client(for: "storage")
        let folder = NSTemporaryDirectory() + "martlet-orphans-\(UInt64.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let settings = FileSettings(directory: folder, secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        let suffix = UUID().uuidString.filter { $0 != "-" }.lowercased().prefix(12)
        for (name, version) in [("a", 6), ("b", 2)] {
            try await postgres.execute("SELECT storage.provision(\(name + suffix), 'live')")
            try await postgres.execute(
                "INSERT INTO storage.spaces (schema, version) VALUES (\("app_" + name + suffix), \(version))")
        }
        let space = try #require(AppSchema(schema: "app_c" + suffix))
        try await Spaces(postgres: postgres).prepare(space)
        _ = try await settings.backend.write(
            OnePortion(portion: ByteBuffer(string: "1")), to: .random(in: space.schema), limitInBytes: 1)
        let work = folder + "/work/0123456789abcdef"
        try FileManager.default.createDirectory(atPath: work, withIntermediateDirectories: true)
        _ = FileManager.default.createFile(atPath: work + "/thumbnail.jpg", contents: Data([1]))

        let collection = collection(postgres, settings)
        await collection.sweepEverywhere(at: Date())
        #expect(FileManager.default.fileExists(atPath: work), "may be under way")
        await collection.sweepEverywhere(at: Date().addingTimeInterval(2 * Self.hour))
        #expect(!FileManager.default.fileExists(atPath: work))
        #expect(try await settings.backend.list(space.schema, after: nil, limit: 9).blobs.count == 1)
        await collection.sweepEverywhere(at: Date().addingTimeInterval(27 * Self.hour))
        #expect(try await settings.backend.list(space.schema, after: nil, limit: 9).blobs.isEmpty)
        await postgres.close()
    }

    @Test func `orphans are kept for longer than a job may run`() async throws {
        func settings(_ hours: String) async throws -> FileSettings {
            try FileSettings(
                try await Settings(
                    arguments: ["storage"],
                    environment: [
                        "MARTLET_INTERNAL_SECRET": "an-internal-secret-of-the-tests-0123456789",
                        "MARTLET_FILES_ORPHAN_HOURS": hours,
                    ]))
        }
        #expect(try await settings("5").orphanAge > TimeInterval(CopyEnvironment.timeLimit.components.seconds))
        await #expect(throws: SettingsError.self) { _ = try await settings("4") }
    }
}
