import Foundation
import MartletAPI

/// The dashboard: static files under `/dashboard/`, read once at startup and served from memory.
///
/// Names under `/dashboard/assets/` contain a digest of the file, so clients may keep them forever. Every other path
/// is the page itself, which shows what the path names. Only files found at startup are served: a path is looked up,
/// never opened.
struct Dashboard: Sendable {
    private let page: StaticFile
    private let assets: [String: StaticFile]

    private static let root = "/dashboard"
    private static let assetsPath = "/dashboard/assets/"
    private static let maximumFileCount = 1_000
    private static let maximumFileInBytes = 4 * 1024 * 1024
    private static let maximumTotalInBytes = 16 * 1024 * 1024

    /// Reads `index.html` and the files of `assets/`. A file may have variants beside it whose names end in `.br` and
    /// `.gz`, compressed by Brotli and gzip.
    ///
    /// Nil if the folder has no `index.html`: the server then has no dashboard.
    /// - Throws: `GatewayConfigurationError` if the folder holds too much or cannot be read.
    init?(directory: String) throws(GatewayConfigurationError) {
        guard FileManager.default.fileExists(atPath: directory + "/index.html") else { return nil }
        let (pages, assets): ([String: StaticFile], [String: StaticFile])
        do {
            pages = try Self.read(directory)
            assets = try Self.read(directory + "/assets")
        } catch let error as GatewayConfigurationError {
            throw error
        } catch {
            throw GatewayConfigurationError("dashboard.directory: \(directory) cannot be read: \(error)")
        }
        guard let page = pages["index.html"] else { return nil }
        self.page = page
        self.assets = assets
    }

    /// The file that `path` names, or the page. Nil if the path is not the dashboard's.
    func answer(_ head: RequestHead, _ bytes: UnsafeRawBufferPointer) throws(Refusal) -> Answer? {
        let path = bytes[head.path]
        guard path.starts(with: Self.root.utf8),
            path.count == Self.root.utf8.count || path[Self.root.utf8.count] == UInt8(ascii: "/")
        else { return nil }
        guard head.method == .get || head.method == .head else {
            throw Refusal(.methodNotAllowed, allow: "GET, HEAD")
        }
        if path.count == Self.root.utf8.count {
            return Answer(status: 308, headers: [("location", Self.root + "/")])
        }
        let wanted = RequestedRepresentation(head, bytes)
        guard path.starts(with: Self.assetsPath.utf8) else {
            return page.answer(to: wanted, cacheControl: "no-cache", headers: Self.pageHeaders)
        }
        let name = UnsafeRawBufferPointer(rebasing: path[Self.assetsPath.utf8.count...]).text
        guard let file = assets[name] else { throw Refusal(.notFound, "The dashboard has no such file.") }
        return file.answer(to: wanted, cacheControl: "public, max-age=31536000, immutable", headers: Self.assetHeaders)
    }

    private static let assetHeaders = [("x-content-type-options", "nosniff")]

    /// The page loads nothing inline and nothing from other hosts, cannot be framed, and sends no referrer.
    private static let pageHeaders = [
        (
            "content-security-policy",
            "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' blob: data:; "
                + "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        ),
        ("cross-origin-opener-policy", "same-origin"), ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ]

    private static func read(_ directory: String) throws -> [String: StaticFile] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
        guard names.count <= maximumFileCount else {
            throw GatewayConfigurationError("dashboard.directory: \(directory) has more than \(maximumFileCount) files")
        }
        var contents: [String: [UInt8]] = [:]
        var total = 0
        for name in names {
            let path = directory + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            let size = attributes[.size] as? Int ?? .max
            total += min(size, maximumTotalInBytes + 1)
            guard size <= maximumFileInBytes, total <= maximumTotalInBytes else {
                throw GatewayConfigurationError("dashboard.directory: \(path) is too large")
            }
            contents[name] = Array(try Data(contentsOf: URL(filePath: path)))
        }
        var files: [String: StaticFile] = [:]
        for (name, identity) in contents where !name.hasSuffix(".br") && !name.hasSuffix(".gz") {
            files[name] = StaticFile(
                name: name, identity: identity, brotli: contents[name + ".br"], gzip: contents[name + ".gz"])
        }
        return files
    }
}
