public import MartletHTTP

/// Creates the configured file storage of a service.
public enum FileBackends {
    /// Reads `files.s3.endpoint`, `.bucket`, `.region` (us-east-1), `.key` and `.secret` (secret). Without an endpoint,
    /// files are stored in `directory`.
    ///
    /// - Throws: `SettingsError`.
    public static func backend(_ settings: Settings, directory: String) throws -> any FileBackend {
        guard let endpoint = settings.optionalString("files.s3.endpoint") else {
            return LocalFiles(directory: directory)
        }
        do {
            return try S3Files(
                .init(
                    endpoint: endpoint, bucket: try settings.requiredString("files.s3.bucket"),
                    region: settings.string("files.s3.region", default: "us-east-1"),
                    accessKey: try settings.requiredString("files.s3.key"),
                    secretKey: try settings.requiredSecret("files.s3.secret")))
        } catch is S3Files.InvalidEndpoint {
            throw SettingsError(key: "files.s3.endpoint", problem: "must read https://host or http://host:port")
        }
    }
}
