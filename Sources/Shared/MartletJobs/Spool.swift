public import Foundation
public import MartletPostgres
public import NIOCore

/// Temporary files of jobs: uploads that a job reads and exports that wait for download.
///
/// Files are stored in portions, in the tables `job_files` and `job_portions` of the service's schema. Every instance
/// can therefore read them, and none holds a whole file in memory. A file is deleted with its job, or after a day if it
/// was never attached to one.
public struct Spool: Sendable {
    static let portionSizeInBytes = 128 << 10
    /// The number of portions fetched per query.
    private static let portionsPerRead = 8

    private let postgres: PostgresClient
    private let files: PostgresIdentifier
    private let portions: PostgresIdentifier
    private let jobs: PostgresIdentifier

    /// - Parameter schema: The schema of a service that has the tables.
    public init(postgres: PostgresClient, schema: String) {
        guard let files = PostgresIdentifier(schema: schema, name: "job_files"),
            let portions = PostgresIdentifier(schema: schema, name: "job_portions"),
            let jobs = PostgresIdentifier(schema: schema, name: "jobs")
        else { preconditionFailure("not a schema: \(schema)") }
        self.postgres = postgres
        self.files = files
        self.portions = portions
        self.jobs = jobs
    }

    public struct File: Sendable {
        public var id: UUID
        public var sizeInBytes: Int
        public var contentType: String
        public var name: String
    }

    /// Creates a file and returns a writer for its content.
    public func write(_ id: UUID = UUID(), contentType: String, name: String, job: UUID? = nil) async throws -> Writer {
        try await postgres.execute("DELETE FROM \(files) WHERE job IS NULL AND created < now() - interval '1 day'")
        try await postgres.execute(
            "INSERT INTO \(files) (id, job, content_type, name) VALUES (\(id), \(job), \(contentType), \(name))")
        return Writer(spool: self, id: id)
    }

    /// Appends the content of a file portion by portion.
    public struct Writer: Sendable {
        private let spool: Spool
        public let id: UUID
        public private(set) var sizeInBytes = 0
        private var portion = ByteBuffer()
        private var number: Int32 = 0

        fileprivate init(spool: Spool, id: UUID) {
            self.spool = spool
            self.id = id
        }

        public mutating func write(_ bytes: ByteBuffer) async throws {
            var bytes = bytes
            sizeInBytes += bytes.readableBytes
            while bytes.readableBytes > 0 {
                let room = Spool.portionSizeInBytes - portion.readableBytes
                var part = bytes.readSlice(length: min(room, bytes.readableBytes)) ?? ByteBuffer()
                portion.writeBuffer(&part)
                if portion.readableBytes == Spool.portionSizeInBytes { try await flush() }
            }
        }

        /// Marks the file as complete.
        public mutating func finish() async throws {
            if portion.readableBytes > 0 { try await flush() }
            try await spool.postgres.execute(
                "UPDATE \(spool.files) SET size = \(sizeInBytes), complete = TRUE WHERE id = \(id)")
        }

        private mutating func flush() async throws {
            let data = Data(portion.readableBytesView)
            portion.clear()
            try await spool.postgres.execute(
                "INSERT INTO \(spool.portions) (file, number, data) VALUES (\(id), \(number), \(data))")
            number += 1
        }
    }

    /// Attaches a complete file to a job, in the transaction that stores the job.
    public func assign(_ id: UUID, to job: UUID, in transaction: PostgresTransaction) async throws {
        try await transaction.execute("UPDATE \(files) SET job = \(job) WHERE id = \(id)")
    }

    /// The latest complete file of a job; nil if it has none.
    public func file(of job: UUID) async throws -> File? {
        let rows = try await postgres.query(
            """
            SELECT id, size, content_type, name FROM \(files) WHERE job = \(job) AND complete
            ORDER BY created DESC LIMIT 1
            """)
        return try rows.first.map {
            File(
                id: try $0.decode(0), sizeInBytes: try $0.decode(1), contentType: try $0.decode(2),
                name: try $0.decode(3))
        }
    }

    /// Calls `body` with each portion, in order.
    public func read(_ id: UUID, _ body: (ByteBuffer) async throws -> Void) async throws {
        var next: Int32 = 0
        while true {
            let rows = try await postgres.query(
                """
                SELECT data FROM \(portions) WHERE file = \(id) AND number >= \(next)
                ORDER BY number LIMIT \(Self.portionsPerRead)
                """)
            for row in rows {
                let portion = row.withBytes(0) { ByteBuffer(bytes: $0 ?? UnsafeRawBufferPointer(start: nil, count: 0)) }
                try await body(portion)
            }
            guard rows.count == Self.portionsPerRead else { return }
            next += Int32(rows.count)
        }
    }

    /// Deletes a file that is not attached to a job.
    public func delete(_ id: UUID) async throws {
        try await postgres.execute("DELETE FROM \(files) WHERE id = \(id) AND job IS NULL")
    }

    /// Deletes the files of a scope's finished jobs of one kind, except for the newest `count`.
    public func deleteFiles(of kind: String, scope: String, keepingNewest count: Int) async throws {
        try await postgres.execute(
            """
            DELETE FROM \(files) WHERE job IN (
                SELECT j.id FROM \(jobs) AS j JOIN \(files) AS f ON f.job = j.id
                WHERE j.scope = \(scope) AND j.kind = \(kind) AND j.finished IS NOT NULL ORDER BY j.finished DESC OFFSET \(count))
            """)
    }

    public func deleteFiles(of job: UUID) async throws {
        try await postgres.execute("DELETE FROM \(files) WHERE job = \(job)")
    }
}
