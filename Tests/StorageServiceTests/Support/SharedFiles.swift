import Foundation
import MartletCore
import MartletTesting

@testable import MartletFiles
@testable import StorageService

/// The file settings of all tests in this process. Their files are in a temporary folder that is removed at exit.
enum SharedFiles {
    static let directory: String = {
        let path = NSTemporaryDirectory() + "martlet-storage-files-\(getpid())"
        atexit {
            try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "martlet-storage-files-\(getpid())")
        }
        return path
    }()

    static let settings: FileSettings = {
        var settings = FileSettings(directory: directory, secret: Secret("an-internal-secret-of-the-tests-0123456789"))
        settings.maximumSizeInBytes = 1 << 20
        settings.thumbnailer.process.time = .seconds(120)
        return settings
    }()
}
