import Foundation

/// Sends the waiting writes. Those of one object are sent in order.
struct OfflineSender: Sendable {
    private static let maximumResolutions = 10
    /// The server remembers a key for a day.
    private static let maximumKeyAge: TimeInterval = 23 * 3_600
    /// After this many failures in a row, the other writes wait, too.
    private static let maximumFailuresInARow = 10

    let store: OfflineStore
    let api: APIClient
    let reports: OfflineReports

    private var now: Date { api.configuration.clock.now() }

    /// Returns the first temporary failure. The writes that failed temporarily stay in the queue.
    ///
    /// - Throws: If the server cannot be reached.
    func sendAll() async throws -> MartletError? {
        var blocked: Set<String> = []
        var failures: [(write: PendingWrite, error: MartletError)] = []
        var failuresInARow = 0, hasSucceeded = false
        while failuresInARow < Self.maximumFailuresInARow, let (write, isFirst) = try await next(except: blocked) {
            do {
                if try await send(write, isFirst: isFirst) { hasSucceeded = true }
                failuresInARow = 0
            } catch let error as MartletError where error.isAnswered && error.mayPass {
                failures.append((write, error))
                failuresInARow += 1
                blocked.insert(write.objectID)
            }
        }
        // Counted only if other writes succeeded: then the write itself may be the cause.
        if hasSucceeded { for failure in failures { try await countFailure(failure.error, of: failure.write) } }
        return failures.first?.error
    }

    private func next(except blocked: Set<String>) async throws -> (write: PendingWrite, isFirst: Bool)? {
        try Task.checkCancellation()
        // If this fails, nothing was sent yet.
        let session = try await api.session.valid(by: api)
        guard session?.user.id == store.userID else { throw SessionKeeper.ended }
        return try await store.beginSending(except: blocked, at: now)
    }

    /// Returns whether the server carried the write out.
    private func send(_ write: PendingWrite, isFirst: Bool) async throws -> Bool {
        guard await isSafe(write) else {
            try await giveUp(write, Self.unknownOutcome)
            return false
        }
        do {
            var request = try await request(write)
            if isFirst { request.maximumAttempts = 1 }
            let response = try await api.send(request)
            try await confirm(write, response)
            return true
        } catch let error as MartletError where error.code == .notConnected && isFirst {
            try await store.takeBack(write)
            throw error
        } catch let error as MartletError where error.status == 412 {
            try await resolve(write, error)
        } catch let error as MartletError where error.code == .objectNotFound {
            if write.kind != .delete { await report(write, error) }
            try await store.finish(write, .object(id: write.objectID, nil))
        } catch let error as MartletError where error.isFinal {
            try await giveUp(write, error)
        }
        return false
    }

    private static let unknownOutcome = MartletError(
        .unknownOutcome, "The answer to a write was lost, and the server may have forgotten its key.")

    /// Whether the write can be sent without the risk of applying it twice.
    private func isSafe(_ write: PendingWrite) async -> Bool {
        guard isKeyForgotten(write), write.kind == .update else { return true }
        if await checksVersion(write), write.ifMatch != nil { return true }
        return !(write.body?.objectValue ?? [:]).values.contains { $0["__op"] == "Increment" || $0["__op"] == "Add" }
    }

    /// Whether the server may have forgotten that it carried the write out. A clock that was set back counts as well.
    private func isKeyForgotten(_ write: PendingWrite) -> Bool {
        guard let sent = write.firstSent else { return false }
        let age = now.timeIntervalSince(sent)
        return age < -60 || age > Self.maximumKeyAge
    }

    private func checksVersion(_ write: PendingWrite) async -> Bool {
        if let known = write.checksVersion { return known }
        return await store.resolver.checksVersion
    }

    private func request(_ write: PendingWrite) async throws -> APIRequest {
        let checks = await checksVersion(write)
        var request: APIRequest
        switch write.kind {
        case .create:
            request = .write("POST", Write.path(store.collection), json: write.body)
            if !write.replaces { request.headers["if-none-match"] = "*" }
        case .update: request = .write("PATCH", Write.path(store.collection, write.objectID), json: write.body)
        // Without a key, because an object that is gone already is a success.
        case .delete:
            request = APIRequest("DELETE", Write.path(store.collection, write.objectID), repetition: .idempotent)
        }
        if write.kind != .delete { request.repetition = .idempotencyKey(write.id) }
        if checks, write.kind != .create { request.headers["if-match"] = write.ifMatch }
        request.expectedUser = .some(store.userID)
        return request
    }
}

// MARK: - Answers

extension OfflineSender {
    private func confirm(_ write: PendingWrite, _ response: HTTPResponse) async throws {
        guard write.kind != .delete else { return try await store.finish(write, .object(id: write.objectID, nil)) }
        let written = try JSON(parsing: response.body)
        guard written["_id"]?.stringValue == write.objectID else {
            throw MartletError(.unexpectedAnswer, "The answer is not the object that was written.")
        }
        var current: JSON? = written
        // The server repeated its first answer; the object may have been changed or deleted since.
        if response.headers["idempotency-replayed"] != nil { current = try await read(write.objectID) }
        try await store.finish(write, await record(write.objectID, current), made: written)
    }

    /// The object on the server; nil if there is none that the user may see.
    private func read(_ id: String) async throws -> JSON? {
        var request = APIRequest("GET", Write.path(store.collection, id))
        request.expectedUser = .some(store.userID)
        do {
            return try await api.json(request)
        } catch let error as MartletError where error.isNotFound || error.code == .forbidden {
            return nil
        }
    }

    /// Objects that do not match the collection's condition are not kept: the change feed would never mention them.
    private func record(_ id: String, _ object: JSON?) async -> OfflineRecord {
        guard let object, await store.filter.matches(object) else { return .object(id: id, nil) }
        return .object(id: id, object)
    }

    /// Drops a write that the server will not carry out; for a new object, also the later writes to it.
    private func giveUp(_ write: PendingWrite, _ error: MartletError, server: OfflineRecord? = nil) async throws {
        await report(write, error)
        let following = await store.state.writes.filter { $0.objectID == write.objectID && $0.id != write.id }
        guard write.kind == .create else { return try await store.finish(write, server) }
        for next in following { await report(next, error) }
        try await store.commit((server.map { [$0] } ?? []) + ([write] + following).map { .done(id: $0.id) })
    }

    private func report(_ write: PendingWrite, _ error: MartletError) async {
        api.configuration.log(
            .warning, "The server refused a write that was done on the device",
            ["collection": store.collection, "write.kind": write.kind.rawValue, "error.code": error.code.rawValue])
        let failure = OfflineFailure(
            collection: store.collection, userID: store.userID, write: write, error: error)
        // Another user may have signed in while the answer was in transit.
        let current = try? await api.session.current()
        reports.report(failure, isCurrent: current?.user.id == store.userID)
    }

    /// Counts failures whose cause may be the server or the write. Answers of a proxy or a hook do not count.
    private func countFailure(_ error: MartletError, of write: PendingWrite) async throws {
        guard error.code == .internalError,
            var write = await store.state.writes.first(where: { $0.id == write.id })
        else { return }
        write.failures += 1
        if write.failures >= api.configuration.offline.maximumFailures { return try await giveUp(write, error) }
        try await store.commit([.write(write)])
    }
}

// MARK: - Conflicts

extension OfflineSender {
    /// The object was changed or created on the server since the device read it.
    private func resolve(_ write: PendingWrite, _ error: MartletError) async throws {
        let server = try await read(write.objectID)
        let record = await record(write.objectID, server)
        guard let server else { return try await giveUp(write, error, server: record) }
        // Created by an attempt that the server has forgotten.
        if write.kind == .create, Self.isSame(write.body, server) {
            return try await store.finish(write, record, made: server)
        }
        if write.kind != .delete, isKeyForgotten(write) {
            // The change may come from the write itself.
            return try await giveUp(write, Self.unknownOutcome, server: record)
        }
        guard write.resolutions < Self.maximumResolutions, let new = await resolution(write, server) else {
            return try await giveUp(write, error, server: record)
        }
        guard await store.resolver.checksVersion else {
            return try await store.commit([record, .write(new, insteadOf: write.id)])
        }
        try await store.replace(write, with: new.body == [:] ? nil : new, record)
    }

    private static func isSame(_ body: JSON?, _ server: JSON) -> Bool {
        (body?.objectValue ?? [:]).allSatisfy { server[$0.key] == $0.value }
    }

    /// The write that replaces the refused one; nil: the server wins.
    private func resolution(_ write: PendingWrite, _ server: JSON) async -> PendingWrite? {
        let resolver = await store.resolver
        guard resolver.checksVersion else {
            // A change is resolved here if it was sent under another policy.
            var new = PendingWrite(
                write.kind, objectID: write.objectID, body: write.body, date: write.date, original: write.original)
            new.replaces = write.kind == .create
            return new
        }
        guard let body = try? resolver.merge(write, server) else { return nil }
        var new = PendingWrite(
            .update, objectID: write.objectID, body: body, date: write.date, ifMatch: server.entityTag,
            original: server)
        new.resolutions = write.resolutions + 1
        return new
    }
}

extension MartletError {
    /// Whether an answer arrived, so that the connection is not to blame.
    fileprivate var isAnswered: Bool { status != nil || code == .unexpectedAnswer }

    /// Whether the server refused permanently. Answers without a code come from a proxy and do not count.
    fileprivate var isFinal: Bool {
        guard let status, (400..<500).contains(status), !code.rawValue.hasPrefix("http-") else { return false }
        return ![401, 404, 408, 429].contains(status)
    }
}
