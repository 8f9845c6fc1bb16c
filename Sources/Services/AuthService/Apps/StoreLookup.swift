import AsyncHTTPClient
import Foundation
import MartletAPI
import MartletCore
import MartletHTTP
import NIOCore
import NIOHTTP1

/// Settings for looking up apps in a store.
public struct StoreSettings: Sendable {
    /// The look-up service. Its answers must have the form of Apple's:
    /// https://developer.apple.com/library/archive/documentation/AudioVideo/Conceptual/iTuneSearchAPI/LookupExamples.html
    var lookupURL = URL(string: "https://itunes.apple.com/lookup")!
    /// The domains that icons may be fetched from, in addition to the look-up's own host.
    var iconDomains = ["mzstatic.com"]
    /// The time limit of a look-up and of fetching an icon.
    var timeout: Duration = .seconds(10)

    public init() {}

    /// Reads `store.lookup.url` and `store.icon.domains`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        lookupURL = try settings.url("store.lookup.url", default: lookupURL)
        iconDomains = settings.list("store.icon.domains", default: iconDomains).map { $0.lowercased() }
    }
}

/// A store's public record of an app. The data is untrusted; invalid values are left out.
struct StoreRecord: Sendable, Equatable {
    static let maximumNameLength = 200

    var name: String?
    var storeID: String?
    var bundleID: String?
    var version: VersionNumber?
    var notes: String?
    /// `YYYY-MM-DD`.
    var releaseDate: String?
    var iconURL: String?

    init(_ record: JSONValue) {
        func text(_ field: String, upTo limit: Int) -> String? {
            guard case .string(let text) = record[field], !text.isEmpty else { return nil }
            return String(String.UnicodeScalarView(text.unicodeScalars.prefix(limit)))
        }
        name = text("trackName", upTo: Self.maximumNameLength)
        if case .number(let id) = record["trackId"], AppChange.isStoreID(id) { storeID = id }
        bundleID = text("bundleId", upTo: 200).flatMap { AppChange.isBundleID($0) ? $0 : nil }
        version = text("version", upTo: 100).flatMap { VersionNumber($0) }
        notes = text("releaseNotes", upTo: VersionChange.maximumNotesLength)
        let released = text("currentVersionReleaseDate", upTo: 40).flatMap { Date(rfc3339: $0) }
        releaseDate = released.map { String($0.rfc3339.prefix(10)) }
        iconURL =
            text("artworkUrl512", upTo: 2_048) ?? text("artworkUrl100", upTo: 2_048)
            ?? text("artworkUrl60", upTo: 2_048)
    }

    /// The record as shown to staff.
    var json: JSONValue {
        func value(_ text: String?) -> JSONValue { text.map { JSONValue.string($0) } ?? .null }
        return .object([
            .init("name", value(name)), .init("storeId", value(storeID)), .init("bundleId", value(bundleID)),
            .init("version", value(version?.text)),
            .init("notes", value(notes)), .init("releaseDate", value(releaseDate)), .init("iconUrl", value(iconURL)),
        ])
    }
}

/// Fetches an app's public record from a store, and the icon that it names.
///
/// Only the look-up address from the settings is called. Icons are fetched from the same host, or by https from the
/// domains in the settings.
struct StoreLookup: Sendable {
    private static let maximumRecordSizeInBytes = 1 << 20

    private let settings: StoreSettings
    private let client = OutgoingClient(.anywhere)

    init(settings: StoreSettings) {
        self.settings = settings
    }

    enum Key: Sendable {
        case storeID(String)
        case bundleID(String)
    }

    /// - Parameter country: The country of the store, two letters (ISO 3166-1 alpha-2).
    /// - Returns: Nil if the store has no such app in that country.
    /// - Throws: `upstream-failed`, `upstream-timeout`.
    func record(_ key: Key, country: String) async throws -> StoreRecord? {
        guard var address = URLComponents(url: settings.lookupURL, resolvingAgainstBaseURL: true) else {
            throw ServiceError(.internalError)
        }
        let item =
            switch key {
            case .storeID(let id): URLQueryItem(name: "id", value: id)
            case .bundleID(let id): URLQueryItem(name: "bundleId", value: id)
            }
        address.queryItems = [
            item, URLQueryItem(name: "country", value: country), URLQueryItem(name: "entity", value: "software"),
        ]
        let body = try await fetch(address.string ?? "", upTo: Self.maximumRecordSizeInBytes)
        guard let answer = try? JSONValue(parsing: body.readableBytesView), case .array(let results) = answer["results"]
        else {
            throw ServiceError(
                .upstreamFailed, "The store's answer could not be understood.",
                cause: "The answer is not a look-up result.")
        }
        return results.first.map { StoreRecord($0) }
    }

    /// - Throws: `upstream-failed`, also if the answer is not a picture or the address is not allowed;
    ///   `upstream-timeout`.
    func icon(at text: String) async throws -> Picture {
        guard let url = URL(string: text), url.user() == nil, mayFetch(url) else {
            throw ServiceError(.upstreamFailed, "The icon is at an address that is not allowed (store.icon.domains).")
        }
        let body = try await fetch(text, upTo: Picture.maximumIconSizeInBytes)
        guard let picture = Picture(Data(body.readableBytesView)) else {
            throw ServiceError(.upstreamFailed, "The store's icon is not a PNG, JPEG or WebP picture.")
        }
        return picture
    }

    private func mayFetch(_ url: URL) -> Bool {
        guard let host = url.host()?.lowercased() else { return false }
        let own = settings.lookupURL
        if url.scheme == own.scheme, host == own.host()?.lowercased(), url.port == own.port { return true }
        return url.scheme == "https" && (url.port ?? 443) == 443
            && settings.iconDomains.contains { host == $0 || host.hasSuffix("." + $0) }
    }

    private func fetch(_ url: String, upTo limitInBytes: Int) async throws -> ByteBuffer {
        var request = HTTPClientRequest(url: url)
        request.headers.add(name: "user-agent", value: "Martlet")
        request.headers.add(name: "accept", value: "*/*")
        do {
            let answer = try await client.send(request, within: settings.timeout, upTo: limitInBytes)
            guard answer.status == 200 else {
                throw ServiceError(.upstreamFailed, "The store answered with the status \(answer.status).")
            }
            return answer.body
        } catch OutgoingFailure.timeout {
            throw ServiceError(.upstreamTimeout, "The store did not answer in time.")
        } catch OutgoingFailure.answerTooLarge {
            throw ServiceError(.upstreamFailed, "The store's answer is too large.")
        } catch let failure as OutgoingFailure {
            throw ServiceError(.upstreamFailed, "The store could not be reached.", cause: failure.cause)
        }
    }
}
