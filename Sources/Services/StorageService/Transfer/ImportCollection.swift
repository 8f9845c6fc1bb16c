import Foundation
import MartletAPI
import MartletCore
import MartletFiles
import MartletJobs
import MartletPostgres
import NIOCore

/// The job of an import: reads the uploaded file record by record into a staging table (`ImportStage`), then
/// stores all of it in one transaction, or nothing.
struct ImportCollection: JobHandler {
    static let kind = "import"
    static let retries = JobRetries(maximumAttempts: 3)
    static let timeLimit: Duration = .seconds(4 * 3_600)
    /// The number and size of records staged by one statement.
    private static let batch = 500
    private static let batchSizeInBytes = 2 << 20
    /// The number of records stored by one statement.
    private static let appliedPerStatement = 5_000

    let transfers: TransferStores

    func run(_ options: ImportOptions, _ job: RunningJob) async throws -> ImportReport {
        let space = try options.space.space
        let collection = try CollectionName(options.collection)
        try await transfers.spaces.prepare(space)
        guard let stage = ImportStage(postgres: transfers.postgres, space: space, collection: collection, job: job.id)
        else {
            throw JobFailure(code: ErrorCode.invalidName.rawValue, detail: "The collection's name is not valid.")
        }
        let result: Result<ImportReport, any Error>
        do {
            transfers.rights.forget(space)
            let schema = try await transfers.rights.collections(of: space)[collection.text]?.schema
            var attempt = Run(options: options, job: job, stage: stage, transfers: transfers, schema: schema)
            result = .success(try await attempt.perform())
        } catch {
            result = .failure(error)
        }
        let isOver =
            switch result {
            case .success: true
            case .failure(let error): job.isOver(after: error)
            }
        // In a new task, because the current one may be cancelled.
        await Task {
            // After losing the lease, another worker may already use a stage of the same name.
            if job.interruption != .leaseLost { try? await stage.drop() }
            if isOver { try? await transfers.spool.deleteFiles(of: job.id) }
        }.value
        return try result.get()
    }

    /// One attempt of the job.
    private struct Run {
        let options: ImportOptions
        let job: RunningJob
        let stage: ImportStage
        let transfers: TransferStores
        /// Checked for each record. If it changes meanwhile, storing fails and the next attempt uses the new one.
        let schema: CollectionSchema?
        var report: ImportReport
        var columns: CSVColumns?
        var pending: [ImportRecord] = []
        var pendingSize = 0
        var staged = 0
        var fields: [FieldName: Set<String>] = [:]

        init(
            options: ImportOptions, job: RunningJob, stage: ImportStage, transfers: TransferStores,
            schema: CollectionSchema?
        ) {
            self.schema = schema
            self.options = options
            self.job = job
            self.stage = stage
            self.transfers = transfers
            report = ImportReport(options)
        }

        mutating func perform() async throws -> ImportReport {
            try await stage.dropAbandoned()
            try await stage.create()
            do {
                if options.format == .csv { try await readColumns() }
                try await readRecords()
            } catch let fault as FileFault {
                report.record(.init(line: fault.line, reason: fault.reason, field: nil))
                report.sort()
                throw failure("The file cannot be read. Line \(fault.line): \(fault.reason)")
            }
            try await stageBatch()
            let duplicates = try await stage.removeDuplicates(refusingExisting: options.existing == .refuse)
            for record in duplicates.first { report.record(record) }
            report.bad += duplicates.count - duplicates.first.count
            report.sort()
            report.good = report.records - report.bad
            if options.dryRun { return report }
            guard report.bad == 0 || options.skipBad else {
                throw failure("\(report.bad) of \(report.records) records are bad. Nothing was stored.")
            }
            try await apply()
            return report
        }

        private func failure(_ detail: String) -> JobFailure {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return JobFailure(
                code: "bad-records", detail: detail, report: (try? encoder.encode(report)).map { Array($0) })
        }

        /// Reads the header. If it gives no type for a column, infers the type from all cells of the column.
        private mutating func readColumns() async throws {
            var splitter = CSVSplitter(delimiter: options.delimiter?.utf8.first)
            var position = 0
            do {
                try await transfers.spool.read(options.file) { portion in
                    try inspectColumns(try splitter.feed(portion.readableBytesView))
                    if columns?.isTypeMissing == false { throw TypesKnown() }
                    position += portion.readableBytes
                    try await job.report(
                        JobProgress(done: position, total: options.sizeInBytes, message: "detecting column types"))
                }
                try checkEnd(position)
                try inspectColumns(try splitter.finish())
            } catch is TypesKnown {}
            report.delimiter = splitter.delimiter.map { String(UnicodeScalar($0)) }
            guard let columns else { throw FileFault(line: 1, reason: "The file has no header.") }
            report.columns = columns.columns.map {
                .init(name: $0.name, type: $0.effectiveType, filled: $0.inference.filled)
            }
        }

        private struct TypesKnown: Error {}

        private mutating func inspectColumns(_ records: [RawRecord]) throws(FileFault) {
            for record in records {
                switch record.content {
                case .cells(let cells) where columns == nil:
                    columns = try CSVColumns(header: cells, types: options.types, id: options.idField)
                case .cells(let cells): columns?.observe(cells)
                case .bad(let reason) where columns == nil: throw FileFault(line: record.line, reason: reason)
                default: break
                }
            }
        }

        private mutating func readRecords() async throws {
            var splitter = options.splitter
            var position = 0
            var isHeader = options.format == .csv
            try await transfers.spool.read(options.file) { portion in
                for record in try splitter.feed(portion.readableBytesView) { try await take(record, &isHeader) }
                position += portion.readableBytes
                try await job.report(JobProgress(done: position, total: options.sizeInBytes, message: "reading"))
            }
            try checkEnd(position)
            for record in try splitter.finish() { try await take(record, &isHeader) }
        }

        /// Checks that the file is complete, because a truncated file could pass for a shorter valid one.
        private func checkEnd(_ position: Int) throws {
            guard position == options.sizeInBytes else {
                throw JobFailure(
                    code: ErrorCode.internalError.rawValue, detail: "The uploaded file is gone. Nothing was stored.")
            }
        }

        private mutating func take(_ raw: RawRecord, _ isHeader: inout Bool) async throws {
            if isHeader { return isHeader = false }
            report.records += 1
            do {
                var record = try record(raw)
                try record.complete(by: schema)
                for (name, type) in record.fields where fields.count < FieldType.maximumFields || fields[name] != nil {
                    fields[name, default: []].insert(type)
                }
                pending.append(record)
                pendingSize += record.document.count
            } catch {
                report.record(.init(line: raw.line, reason: error.reason, field: error.field))
            }
            if pending.count >= ImportCollection.batch || pendingSize >= ImportCollection.batchSizeInBytes {
                try await stageBatch()
            }
        }

        private func record(_ raw: RawRecord) throws(RecordFault) -> ImportRecord {
            switch raw.content {
            case .bad(let reason): throw RecordFault(reason: reason)
            case .json(let text): return try ImportRecord(line: raw.line, text: text, idField: options.idField)
            case .cells(let cells):
                guard let columns else { throw RecordFault(reason: "There is no header.") }
                let text = try columns.object(cells, emptyIsNull: options.emptyIsNull)
                guard text.count <= TransferLimits.recordSizeInBytes else { throw RecordFault(reason: tooLarge) }
                return try ImportRecord(line: raw.line, text: text, idField: nil)
            }
        }

        private mutating func stageBatch() async throws {
            for record in try await stage.add(pending[...], after: staged) {
                report.record(.init(line: record.line, reason: "A value cannot be stored.", field: nil))
            }
            staged += pending.count
            pending = []
            pendingSize = 0
        }

        /// Stores the records and ends the job in a single transaction.
        private mutating func apply() async throws {
            let scope = QueryScope(space: stage.space, collection: stage.collection, rights: .master)
            let isNew = !(try await stage.hasTarget())
            try await job.report(JobProgress(done: 0, total: staged, message: "storing"), isImportant: true)
            do {
                try await transfers.collections.create(stage.collection, of: stage.space)
                report = try await applied(scope)
            } catch {
                if isNew { try? await transfers.collections.dropIfEmpty(stage.collection, of: stage.space) }
                guard let error = error as? PostgresError else { throw error }
                guard error.sqlState == "23505" else { throw error }
                throw JobFailure(
                    code: ErrorCode.conflict.rawValue,
                    detail: "A record has the same values in a unique index as another object. Nothing was stored.",
                    cause: "\(error)")
            }
            transfers.signal.written(in: stage.space)
            try? await transfers.rights.registerFields(fields, scope)
        }

        private func applied(_ scope: QueryScope) async throws -> ImportReport {
            try await transfers.postgres.withTransaction { transaction in
                var report = report
                try await transaction.executeScript("SET LOCAL ROLE \(stage.space.role.quoted)")
                for start in stride(from: 1, through: staged, by: ImportCollection.appliedPerStatement) {
                    guard (try? transfers.quota.requireRoom(in: stage.space)) != nil else {
                        throw JobFailure(
                            code: ErrorCode.objectQuotaExceeded.rawValue,
                            detail: "The app has no room for further objects. Nothing was stored.")
                    }
                    let range = start...min(staged, start + ImportCollection.appliedPerStatement - 1)
                    let done = try await stage.apply(
                        range, replacing: options.existing == .replace, schema: schema, scope: scope, in: transaction)
                    report.created += done.created
                    report.replaced += done.replaced
                    report.skipped += done.skipped
                    try await job.report(JobProgress(done: range.upperBound, total: staged, message: "storing"))
                }
                guard options.existing != .refuse || report.skipped == 0 else {
                    throw JobFailure(
                        code: ErrorCode.conflict.rawValue,
                        detail: "An object with the _id of a record was created meanwhile. Nothing was stored.")
                }
                // A crash of PostgreSQL empties the stage, because it is an unlogged table.
                guard report.created + report.replaced + report.skipped == report.good else {
                    throw JobFailure(
                        code: ErrorCode.internalError.rawValue,
                        detail: "The staged records were lost. Nothing was stored.", isFinal: false)
                }
                report.applied = true
                try await transaction.executeScript("RESET ROLE")
                try await job.finish(report, in: transaction)
                return report
            }
        }
    }
}

/// The dependencies of the jobs and endpoints for imports, exports and environments.
struct TransferStores: Sendable {
    /// Uses its own connections, so that long transactions do not delay requests.
    let postgres: PostgresClient
    let spaces: Spaces
    let collections: CollectionStore
    let rights: RightsStore
    let signal: ChangeSignal
    let quota: ObjectQuota
    let jobs: JobQueue
    let spool: Spool
    /// Limits the exports that this process streams at once. Each holds a transaction for as long as its reader takes.
    let exports = RequestSlots(maximumExports)
    let files: any FileBackend

    var builds: IndexBuilds { IndexBuilds(postgres: postgres, jobs: jobs) }

    static let maximumExports = 2
    static let maximumUnfinishedJobs = 20

    /// - Throws: `limit-exceeded` if the app has too many unfinished jobs.
    func checkNumberOfJobs(of space: AppSchema) async throws {
        let kinds = [ImportCollection.kind, ExportCollection.kind, CopyEnvironment.kind]
        guard try await jobs.unfinished(scope: space.jobScope, kinds: kinds) < Self.maximumUnfinishedJobs else {
            throw ServiceError(.limitExceeded, "An app may have at most \(Self.maximumUnfinishedJobs) unfinished jobs.")
        }
    }

    func options(_ space: AppSchema) -> JobOptions {
        JobOptions(scope: space.jobScope, lane: space.appID)
    }
}
