import Foundation

/// A release as issues compare it with others.
struct Release: Sendable, Hashable {
    let id: Int32
    /// Nil: its name says no number.
    let sortKey: String?
    let firstSeen: Date
    /// The app of its name, before `@`: the numbers of two say nothing about each other.
    let package: String

    init(id: Int32, name: String, sortKey: String?, firstSeen: Date) {
        (self.id, self.sortKey, self.firstSeen) = (id, sortKey, firstSeen)
        package = name.lastIndex(of: "@").map { String(name[..<$0]) } ?? ""
    }

    /// By their numbers, where both have one and are of the same app; else by which was heard of first. `ReleaseOrder` says the same in SQL.
    func isNewer(than other: Release) -> Bool {
        guard id != other.id else { return false }
        if let sortKey, let otherKey = other.sortKey, package == other.package { return otherKey.utf8.lexicographicallyPrecedes(sortKey.utf8) }
        return firstSeen > other.firstSeen
    }
}

/// What a report does to the issue it belongs to.
struct IssueTransition: Sendable, Equatable {
    enum Change: String, Sendable {
        /// It was resolved, and is back in a newer release.
        case regressed
        /// It was ignored for so long or so many, and that is over.
        case unignored
    }

    var status: String
    var resolvedIn: Release?
    /// Since when it has its status.
    var changed: Date
    var events: Int
    var ignoredUntil: Date?
    var ignoredUntilEvents: Int?

    /// - Parameters:
    ///   - release: the report's.
    ///   - date: when it happened.
    mutating func take(_ release: Release?, at date: Date, now: Date) -> Change? {
        events += 1
        switch status {
        case "resolved" where isBack(release, date): return becomeUnresolved(.regressed)
        case "ignored" where ignoredUntilEvents.map({ events >= $0 }) ?? false || ignoredUntil.map({ now >= $0 }) ?? false: return becomeUnresolved(.unignored)
        default: return nil
        }
    }

    /// Reports of the release it was resolved in, and of older ones, may still be on their way.
    private func isBack(_ release: Release?, _ date: Date) -> Bool {
        guard let resolvedIn, let release else { return date > changed }
        return release.isNewer(than: resolvedIn)
    }

    private mutating func becomeUnresolved(_ change: Change) -> Change {
        status = "unresolved"
        return change
    }
}
