public import Foundation
public import MartletCore
public import MartletFiles
import MartletHTTP

/// Where files are stored, and their limits.
public struct FileSettings: Sendable {
    public var backend: any FileBackend
    public var signer: LinkSigner
    public var thumbnailer: Thumbnailer
    /// The thumbnail sizes, by name.
    public var thumbnailSizes: [String: ThumbnailSize]
    public var maximumSizeInBytes = 100 << 20
    /// The quota of each app's environment without its own limits.
    var quota = FileQuota.none
    /// How long a resumable upload may take.
    public var uploadLifetime: TimeInterval = 24 * 3_600
    /// How long an unreferenced blob is kept. Must be longer than any job that refers to its blobs only at its end
    /// (`CopyEnvironment`).
    public var orphanAge: TimeInterval = 24 * 3_600
    /// How long the history of uploads is kept.
    public var historyInDays = 365
    public var orphanSweepInterval: Duration = .seconds(3_600)
    public var now: @Sendable () -> Date = { Date() }

    public init(
        backend: any FileBackend, signer: LinkSigner, thumbnailer: Thumbnailer,
        thumbnailSizes: [ThumbnailSize] = Self.defaultSizes
    ) {
        self.backend = backend
        self.signer = signer
        self.thumbnailer = thumbnailer
        self.thumbnailSizes = Dictionary(thumbnailSizes.map { ($0.name, $0) }) { $1 }
    }

    /// Files in a directory, with links signed by `secret`: for tests and single machines.
    public init(directory: String, secret: Secret) {
        self.init(
            backend: LocalFiles(directory: directory), signer: LinkSigner(secret: secret),
            thumbnailer: Thumbnailer(directory: directory + "/work", maximumAtOnce: 2))
    }

    /// Reads `files.…` and `internal.secret`.
    ///
    /// - Throws: `SettingsError`.
    init(_ settings: Settings) throws {
        let directory = settings.string("files.directory", default: ".martlet/files")
        let secret = try settings.requiredSecret("internal.secret", minimumLength: 32)
        let work = settings.string("files.thumbnails.directory", default: directory + "/work")
        var thumbnailer = Thumbnailer(
            directory: work, maximumAtOnce: try settings.integer("files.thumbnails.processes", default: 2, in: 1...64))
        thumbnailer.maximumPixels = try settings.integer(
            "files.thumbnails.maximumpixels", default: thumbnailer.maximumPixels, in: 1...1_000_000_000)
        let sizes = try settings.list("files.thumbnails.sizes", default: ThumbnailSize.defaults).map { text in
            guard let size = ThumbnailSize(text) else {
                throw SettingsError(
                    key: "files.thumbnails.sizes", problem: "must be a list of name=160x160 or name=160x160:crop")
            }
            return size
        }
        self.init(
            backend: try FileBackends.backend(settings, directory: directory), signer: LinkSigner(secret: secret),
            thumbnailer: thumbnailer,
            thumbnailSizes: sizes)
        maximumSizeInBytes = try settings.integer("files.maximumbytes", default: maximumSizeInBytes, in: 1...(64 << 30))
        func limit(_ key: String) throws -> Int? { try settings.integer(key, default: 0, in: 0...(1 << 60)).nonZero }
        quota = FileQuota(maximumFiles: try limit("files.quota.files"), maximumBytes: try limit("files.quota.bytes"))
        uploadLifetime = 3_600 * Double(try settings.integer("files.upload.hours", default: 24, in: 1...720))
        orphanAge = 3_600 * Double(try settings.integer("files.orphan.hours", default: 24, in: 5...8_760))
        historyInDays = try settings.integer("files.history.days", default: historyInDays, in: 1...36_500)
    }

    public static let defaultSizes = ThumbnailSize.defaults.compactMap { ThumbnailSize($0) }
}

extension Int {
    fileprivate var nonZero: Int? { self == 0 ? nil : self }
}
