import MartletHTTP
import StorageService

@main
enum Main {
    static func main() async {
        await ServiceProcess.run(StorageService.self)
    }
}
