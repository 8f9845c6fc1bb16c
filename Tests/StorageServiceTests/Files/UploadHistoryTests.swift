import MartletAPI
import MartletPostgres
import MartletTesting
import ServiceTesting
import Testing

@testable import StorageService

@Suite struct UploadHistoryTests {
    /// The upload commits while a change of the readers, or a deletion, waits for it.
    @Test(arguments: [("PATCH", "{ben}"), ("DELETE", "{ada}")])
    func `an upload's history entry gets the readers that the file has in the end`(_ method: String, _ readers: String)
        async throws
    {
        let app = try await StorageApp()
        #expect(try await app.client.put("/upload/a.txt?readers=ada", "1").status == 201)
        let (files, uploads) = (try app.space().own("_files"), try app.space().own("_uploads"))
        let status = try await withThrowingTaskGroup(of: Int.self) { group in
            try await app.database.withSuperuser { uploader in
                try await uploader.withTransaction { transaction in
                    try await transaction.execute("UPDATE \(files) SET version = version + 1 WHERE path = 'a.txt'")
                    try await transaction.execute(
                        """
                        INSERT INTO \(uploads) (path, file, version, size, sha256, content_type, credential, readers)
                        SELECT path, id, version, size, sha256, content_type, 'test', NULL FROM \(files)
                        """)
                    group.addTask {
                        try await app.master.send(
                            method, "/upload/a.txt", method == "PATCH" ? #"{"_readers":["ben"]}"# : nil
                        ).status
                    }
                    try await app.waitUntilStatementWaits()
                }
            }
            return try await group.next()
        }
        #expect(status == (method == "PATCH" ? 200 : 204))
        let recorded = try await app.superuser.query("SELECT readers::text FROM \(uploads) ORDER BY id").map {
            try $0.decode(0, as: String?.self)
        }
        #expect(recorded == [readers, readers])
    }
}

extension StorageApp {
    /// Waits until a statement waits for a lock on one of the app's rows.
    fileprivate func waitUntilStatementWaits() async throws {
        let schema = try space().schema
        let waiting: PostgresQuery =
            "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND strpos(query, \(schema)) > 0"
        try await eventually("a statement waits") { try await !superuser.query(waiting).isEmpty }
    }
}
