import Foundation
import MartletAPI
import MartletPostgres
import MartletTesting
import Testing

@testable import StorageService

@Suite struct CopyTests {
    @Test
    func `files may be created in test during a copy; they are replaced like the rest, and test keeps its limits`()
        async throws
    {
        let app = try await StorageApp()
        let files = FileStore(postgres: app.postgres, spaces: Spaces(postgres: app.postgres))
        #expect(try await app.client.put("/upload/a.txt", "12345").status == 201)
        #expect(try await app.testClient.put("/upload/old.txt", "1").status == 201)
        try await files.limit(app.space(.test), to: FileQuota(maximumFiles: 7, maximumBytes: nil))
        try await app.postgres.withTransaction(isolation: .repeatableRead) { transaction in
            let copy = EnvironmentCopy(
                live: try app.space(), test: try app.space(.test), transaction: transaction, timeout: .seconds(60))
            #expect(try await copy.tables().isEmpty)
            #expect(try await app.testClient.put("/upload/new.txt", "123").status == 201)
            try await copy.beginFiles()
            try await copy.insertRows(of: try await copy.files(after: "", limit: 10))
            try await copy.replaceTables([])
            try await copy.copyFileRows()
        }
        let usage = try await files.usage(of: app.space(.test))
        #expect(
            usage
                == FileUsage(
                    files: 1, bytes: 5, unfinishedBytes: 0, maximumFiles: 7, maximumBytes: nil, isDefault: false))
    }
}
